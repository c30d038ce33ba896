"""Pages of an answer that fit into what the bus carries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from google.protobuf.message import Message

Page = TypeVar("Page", bound=Message)


def half_of(most_bytes: int) -> int:
    """Bytes that a page may take: the envelope comes on top, and lines that fit by a hair are no gain."""
    return most_bytes // 2


def fitting(page_of: Callable[[int], Page], limit: int, most_bytes: int) -> Page:
    """The page of `limit` lines, or of fewer where it is too large; one line is a page whatever its size."""
    page = page_of(limit)
    while page.ByteSize() > half_of(most_bytes) and limit > 1:
        limit = max(1, limit // 4)
        page = page_of(limit)
    return page
