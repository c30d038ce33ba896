"""A context worker over twins of all tiers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aico_memory.contracts.v1 import behavioral_pb2, context_pb2, model_pb2, semantic_pb2, working_pb2
from services.context.handlers import ContextHandlers, build
from tests.services.context.tiers import PATIENT_MS, Tiers, ports
from tests.support.twin_link import TwinLink


@pytest.fixture
def tiers() -> Tiers:
    return Tiers()


@pytest.fixture
def link(tiers: Tiers) -> TwinLink:
    return TwinLink(
        {
            model_pb2.EmbedRequest: tiers.embed,
            working_pb2.ReadMessages: tiers.read,
            working_pb2.ReadBuffer: tiers.buffer,
            behavioral_pb2.SelectionAnswerRequest: tiers.selection,
            behavioral_pb2.StyleGuidanceRequest: tiers.guidance,
            semantic_pb2.SemanticQuery: tiers.query,
            context_pb2.CandidatesRequest: tiers.candidates,
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
