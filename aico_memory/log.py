"""Structured logs: JSON lines into a file or pipe, coloured lines on a terminal.

Log lines carry ids, not people's words.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, cast

import structlog


def configure_logging(process: str, level: str = "info", console: bool | None = None) -> None:
    """Set up structlog for this process; `console` defaults to whether stderr is a terminal."""
    pretty = sys.stderr.isatty() if console is None else console
    renderer: Any = structlog.dev.ConsoleRenderer() if pretty else structlog.processors.JSONRenderer()
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
    return cast(structlog.typing.FilteringBoundLogger, structlog.get_logger(module=name))
