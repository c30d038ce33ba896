"""The command line `aico-memory`; each module holds the commands of one subject."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from aico_memory.cli.app import app
from aico_memory.cli.face import Exit, Face, hoist
from aico_memory.errors import AicoMemoryError, from_os_error
from aico_memory.paths import find_home

__all__ = ["app", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns (or exits with) a documented code, errors as one line."""
    from aico_memory.cli import (  # noqa: F401  (they register their commands)
        behavior,
        bench,
        clock,
        disclosure,
        doctor,
        facts,
        graph,
        keys,
        learning,
        lifecycle,
        memory,
        review,
        sleep,
        status,
        streams,
        time_verbs,
        topics,
    )  # fmt: skip

    arguments = hoist(sys.argv[1:] if argv is None else argv)
    try:
        app(args=arguments, prog_name="aico-memory")
    except AicoMemoryError as error:
        return Face(find_home(), as_json="--json" in arguments).fail(error)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`).
        sys.stderr.close()
        return Exit.OK
    except OSError as error:
        return Face(find_home(), as_json="--json" in arguments).fail(from_os_error(error))
    except KeyboardInterrupt:
        return 130
    return Exit.OK
