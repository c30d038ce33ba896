"""The command line `aico-memory`; each module holds the commands of one subject."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import typer

from aico_memory.cli.app import USAGE_MEND, app
from aico_memory.cli.face import Exit, Face, hoist
from aico_memory.cli.modules import load_commands
from aico_memory.errors import AicoMemoryError, InvalidMessage, from_os_error
from aico_memory.paths import find_home

# The root of what typer says of wrong usage, whichever click it stands on.
WRONG_USAGE: type[Exception] = typer.BadParameter.__mro__[1]
__all__ = ["app", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns (or exits with) a documented code, errors as one line."""
    given = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in given
    try:
        # Wrong usage is told by typer in a box, and to programs like every other error.
        arguments = hoist(given)
        load_commands(arguments)
        ended = app(args=arguments, prog_name="aico-memory", standalone_mode=not as_json)
        return ended if isinstance(ended, int) else Exit.OK
    except WRONG_USAGE as error:
        return Face(find_home(), as_json=True).fail(InvalidMessage(_told(error), USAGE_MEND))
    except AicoMemoryError as error:
        return Face(find_home(), as_json=as_json).fail(error)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`).
        sys.stderr.close()
        return Exit.OK
    except OSError as error:
        return Face(find_home(), as_json=as_json).fail(from_os_error(error))
    except (KeyboardInterrupt, typer.Abort):
        return 130


def _told(error: Exception) -> str:
    """What is wrong, with the option or argument that it is about."""
    # What is missing has no message of its own: it is made where it is shown.
    shown: Callable[[], str] | None = getattr(error, "format_message", None)
    said = (shown() if shown is not None else str(error)) or str(getattr(error, "message", ""))
    return " ".join(said.split()).rstrip(".") or "A command is missing"
