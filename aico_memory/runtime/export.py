"""The canonical export: every worker's state as sorted lines without operational fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from aico_memory.contracts.v1 import bus_pb2
from aico_memory.errors import DeadlineExceeded
from aico_memory.runtime.probe import ask

if TYPE_CHECKING:
    from aico_memory.bus.link import Link

FORMAT = "aico-memory-export/1"
PAGE = 500
PAGE_SECONDS = 30.0


def canonical_export(
    link: Link, workers: Sequence[str], user: str = "", progressed: Callable[[int], None] = lambda done: None
) -> list[str]:
    """The lines: first one that says what is left out, then the objects, sorted by text.

    Two deployments that went through the same stream give the same lines, byte for byte.
    """
    lines: list[str] = []
    omitted: set[str] = set()
    for worker in workers:
        after = ""
        while True:
            page = _page(link, worker, user, after)
            lines.extend(page.lines)
            omitted.update(page.omitted)
            progressed(len(lines))
            if not page.next:
                break
            after = page.next
    header = {"format": FORMAT, "user": user, "omitted": sorted(omitted)}
    return [json.dumps(header, sort_keys=True, ensure_ascii=False), *sorted(lines)]


def _page(link: Link, worker: str, user: str, after: str) -> bus_pb2.ExportPage:
    request = bus_pb2.ExportRequest(process=worker, user_id=user, after=after, limit=PAGE)
    try:
        page: bus_pb2.ExportPage = ask(link, request, seconds=PAGE_SECONDS)
    except DeadlineExceeded:
        raise DeadlineExceeded(f"The process {worker} has not answered the export", f"aico-memory restart {worker}") from None
    return page
