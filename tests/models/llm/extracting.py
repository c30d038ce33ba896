"""An extractor before a language model that a test scripts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from aico_memory.clock import FixedClock
from aico_memory.domain.formation.entities import Gazetteer
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.prompting import Told
from aico_memory.models.llm.asking import Asking
from aico_memory.models.llm.chat import ChatEndpoint
from aico_memory.models.llm.endpoint import endpoint_of
from aico_memory.models.llm.extractor import Extractor, Reading
from aico_memory.models.llm.operations import FILE, OperationsLog
from aico_memory.settings.language_model import LanguageModelSettings
from tests.support.chat_server import ChatServer, claim, say

Answer = Callable[[dict[str, Any], BaseHTTPRequestHandler], None]
TEXT = "After the storm I put down roots in Oslo."
GOOD = claim(evidence="I put down roots in Oslo")
NOON = datetime(2026, 3, 11, 12, tzinfo=UTC)


@dataclass
class World:
    server: ChatServer
    folder: Path
    tables: FormationTables
    clock: FixedClock
    stop: threading.Event

    def extractor(self, environment: dict[str, str] | None = None, **changes: Any) -> Extractor:
        settings = self.settings(**changes)
        asking = Asking(
            ChatEndpoint(endpoint_of(settings, environment or {}), settings, self.stop), settings,
            OperationsLog(self.folder, settings.log_bytes, settings.log_files), self.clock,
            lambda text: f"digest of {len(text)}".encode(),
        )  # fmt: skip
        return Extractor(asking, settings, self.tables, Gazetteer({}, frozenset()))

    def settings(self, **changes: Any) -> LanguageModelSettings:
        given = {"enabled": True, "model": "local", "endpoint": self.server.url, "timeout_seconds": 20.0, "retry_seconds": 0.0}
        return LanguageModelSettings.model_validate({**given, **changes})

    def read(self, text: str = TEXT, **changes: Any) -> Reading:
        return self.extractor(**changes).read(told(text), b"event")

    def log(self) -> list[dict[str, Any]]:
        path = self.folder / FILE
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def told(text: str = TEXT) -> Told:
    return Told(text, round(NOON.timestamp() * 1_000_000))


def always(status: int, **headers: str) -> Answer:
    return lambda body, handler: say(handler, b'{"error": {"message": "no"}}', status, **headers)
