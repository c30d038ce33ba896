"""A context worker over twins of all tiers."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest

from aico_memory.contracts.v1 import behavioral_pb2, context_pb2, model_pb2, outcomes_pb2, semantic_pb2, working_pb2
from services.context.handlers import ContextHandlers, build
from tests.services.context.held import Held
from tests.services.context.tiers import PATIENT_MS, ports
from tests.support.twin_link import TwinLink


@pytest.fixture
def tiers() -> Held:
    return Held()


@pytest.fixture
def link(tiers: Held) -> TwinLink:
    return TwinLink(
        {
            model_pb2.EmbedRequest: tiers.embed,
            working_pb2.ReadMessages: tiers.read,
            working_pb2.ReadBuffer: tiers.buffer,
            behavioral_pb2.SelectionAnswerRequest: tiers.selection,
            behavioral_pb2.StyleGuidanceRequest: tiers.guidance,
            semantic_pb2.SemanticQuery: tiers.query,
            context_pb2.CandidatesRequest: tiers.candidates,
            semantic_pb2.ListMemories: tiers.page,
            semantic_pb2.GetMemory: tiers.get,
            context_pb2.AroundRequest: tiers.around,
            behavioral_pb2.SkillsRequest: tiers.all_skills,
            outcomes_pb2.OutcomesRequest: tiers.outcomes,
        }
    )


@pytest.fixture
def handlers(link: TwinLink) -> Iterator[ContextHandlers]:
    built = build(ports(link, deadline_ms=300))
    yield built
    built.close()


@pytest.fixture
def patient(link: TwinLink) -> Iterator[ContextHandlers]:
    """Waits so long for a tier that a wait can be told from a busy machine."""
    built = build(ports(link, deadline_ms=PATIENT_MS))
    yield built
    built.close()


@pytest.fixture
def asked_ms(link: TwinLink, monkeypatch: pytest.MonkeyPatch) -> dict[Any, float]:
    """Milliseconds that each kind of question was given, the last time it was asked."""
    given: dict[Any, float] = {}
    plain = link.request

    def request(message: Any, **more: Any) -> Any:
        given[type(message)] = more["timeout"] * 1000
        return plain(message, **more)

    monkeypatch.setattr(link, "request", request)
    return given


@pytest.fixture
def slow_search(link: TwinLink, tiers: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is away, and a search takes longer than the 300 ms that the other tiers have, by the worker's clock."""
    tiers.model_away = True
    late_s = 0.0
    monkeypatch.setattr("services.context.tiers.monotonic", lambda: monotonic() + late_s)

    def slow(message: Any, user: str) -> semantic_pb2.SemanticMatches:
        nonlocal late_s
        late_s = 0.35
        return tiers.query(message, user)

    link.answers[semantic_pb2.SemanticQuery] = slow
