"""Port of the embedding model as the indexer sees it, and its adapter over the bus."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from threading import Event
from typing import Protocol

import numpy as np
import numpy.typing as npt

from aico_memory.contracts.v1 import model_pb2
from aico_memory.errors import BusUnavailable, InvalidMessage
from aico_memory.runtime.ports import LinkPort

# How often a waiting indexer looks whether it is told to stop.
_LOOK_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of some texts, in order, and the fingerprint of the model that made them."""

    fingerprint: str
    vectors: npt.NDArray[np.float32]


class Embedder(Protocol):
    """Whoever turns texts into vectors."""

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Vectors of these texts; raises a typed error where the model is away."""

    def pause(self, seconds: float) -> bool:
        """Wait before asking again; True where the worker is told to stop."""


class BusEmbedder:
    """Asks the model service, as bulk work unless told otherwise: a person who waits goes first."""

    def __init__(self, link: LinkPort, timeout_seconds: float, stop: Event, interactive: bool = False) -> None:
        self._link = link
        self._timeout = timeout_seconds
        self._stop = stop
        self._interactive = interactive

    def pause(self, seconds: float) -> bool:
        return self._stop.wait(seconds)

    def embed(self, texts: Sequence[str]) -> Embedded:
        future = self._link.request(model_pb2.EmbedRequest(texts=texts, interactive=self._interactive), timeout=self._timeout)
        while not wait([future], _LOOK_SECONDS).done:
            if self._stop.is_set():
                future.cancel()
                raise BusUnavailable("The indexer stops")
        answer = future.result()
        vectors = np.frombuffer(answer.vectors, dtype="<f4")
        if not answer.fingerprint or len(vectors) != len(texts) * answer.dimension:
            raise InvalidMessage(f"The model answered {len(vectors)} numbers for {len(texts)} texts")
        return Embedded(answer.fingerprint, vectors.reshape(len(texts), answer.dimension))
