"""The block that goes into a prompt: one line an item between two marks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from aico_memory.domain.context.items import SHORT, ContextItem
from aico_memory.domain.retrieval.escaping import FOOTER, HEADER, OF_PROMPTS, Markers, escape_text

_NO_KIND = re.compile(r"[^a-z0-9_]+")


def format_line(item: ContextItem, text: str | None = None, zone: tzinfo = UTC, known: Markers = OF_PROMPTS) -> str:
    """`- [kind] text (who, when) (confidence: 0.95)`; who and when only where they are known, in short no confidence.

    What is no longer true says until when it was, and so does a record of which that is known. Days are those of the zone.
    """
    kind = _NO_KIND.sub("_", item.kind.casefold()) or "memory"
    said = [escape_text(item.speaker, known)] if item.speaker else []
    if item.said_at_us > 0:
        said.append(_day(item.said_at_us, zone))
    until_us = item.valid_until_us if item.status != "active" else item.over_us
    if until_us > 0:
        said.append(f"until {_day(until_us, zone)}")
    origin = f" ({', '.join(said)})" if said else ""
    certain = "" if item.detail == SHORT else f" (confidence: {item.confidence:.2f})"
    return f"- [{kind}] {escape_text(item.text if text is None else text, known)}{origin}{certain}"


def format_block(lines: Sequence[str]) -> str:
    """The whole block; an empty text where nothing is remembered."""
    return "\n".join((HEADER, *lines, FOOTER)) if lines else ""


def _day(microseconds: int, zone: tzinfo) -> str:
    try:
        return datetime.fromtimestamp(microseconds / 1e6, zone).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return "unknown date"
