"""The real embedded model, once a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aico_memory.models.embedder import Embedder
from aico_memory.models.load import ModelAccount, load_embedder
from aico_memory.settings.models import ModelSettings
from tests.support.exports import export_folder


@pytest.fixture(scope="session")
def loaded() -> Iterator[tuple[Embedder, ModelAccount]]:
    settings = ModelSettings(export_folder=str(export_folder()))
    embedder, account = load_embedder(settings, export_folder(), {})
    yield embedder, account
    embedder.close()
