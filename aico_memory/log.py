"""Structured logs: JSON lines into a file or pipe, coloured lines on a terminal.

Log lines carry ids, not people's words. A process of ours calls `configure_logging`;
in a program that only uses the client library, lines go to the standard library's
`logging` under the module's name, so that nothing is written where nobody asked.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, cast

import structlog

_ours = False
# The convention for libraries: silent unless the program sets up logging.
logging.getLogger("aico_memory").addHandler(logging.NullHandler())


class _Logger:
    """Chooses at each call: this process's structured log, or the standard library's."""

    __slots__ = ("_library", "_structured")

    def __init__(self, name: str) -> None:
        self._structured = structlog.get_logger(module=name)
        self._library = structlog.wrap_logger(
            logging.getLogger(name),
            processors=[structlog.stdlib.filter_by_level, structlog.stdlib.render_to_log_kwargs],
            wrapper_class=structlog.stdlib.BoundLogger,
        )

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._structured if _ours else self._library, verb)


def configure_logging(process: str, level: str = "info", console: bool | None = None) -> None:
    """Set up structlog for this process; `console` defaults to whether stderr is a terminal."""
    pretty = sys.stderr.isatty() if console is None else console
    renderer: Any = structlog.dev.ConsoleRenderer() if pretty else structlog.processors.JSONRenderer()
    global _ours  # noqa: PLW0603  (a process sets up its log once)
    _ours = True
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(process=process)


def get_logger(name: str) -> structlog.typing.FilteringBoundLogger:
    """A logger bound to the module's name."""
    return cast(structlog.typing.FilteringBoundLogger, _Logger(name))
