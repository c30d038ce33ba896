"""Redundancy over vectors of the real embedding model: it sees far too much alike, and no two things become one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aico_memory.domain.sleep import names
from aico_memory.models.embedder import Embedder
from aico_memory.models.load import load_embedder
from aico_memory.settings.models import ModelSettings
from aico_memory.stores.semantic.twin import MemorySemanticStore
from tests.services.semantic.knowledge import an_item, counted, items, put, run
from tests.support.exports import export_folder
from tests.support.near_sentences import DIFFERENT, SAME


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("model")
    embedder, _ = load_embedder(ModelSettings(export_folder=str(export_folder())), folder)
    yield embedder
    embedder.close()


def filled(model: Embedder, pairs: Any) -> MemorySemanticStore:
    store = MemorySemanticStore()
    # Each once: some stand in several pairs.
    every = list(dict.fromkeys((language, text) for language, *both in pairs for text in both))
    rows = model.embed([text for _, text in every])
    known = [an_item(number, text, language=language) for number, (language, text) in enumerate(every, 1)]
    put(store, *known, vectors=dict(enumerate(rows, 1)))
    return store


def test_sentences_that_differ_in_what_they_mean_are_never_merged(model: Embedder) -> None:
    found = run(filled(model, DIFFERENT), names.REDUNDANCY)
    # Most of these pairs are closer than 0.9: by cosine alone they would be one.
    assert counted(found, "close") >= len(DIFFERENT) * 0.5
    assert counted(found, "merged") == 0


def test_of_sentences_that_differ_in_nothing_all_that_are_close_are_merged(model: Embedder) -> None:
    store = filled(model, SAME)
    found = run(store, names.REDUNDANCY)
    merged = counted(found, "merged")
    # A word that means nothing can still move a short sentence by a tenth.
    assert merged == counted(found, "close") >= len(SAME) - 1
    assert sum(one.memory.status == "active" for one in items(store).values()) == 2 * len(SAME) - merged
