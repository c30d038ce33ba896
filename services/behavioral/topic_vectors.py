"""The embeddings of the skills' topics, and how near a message lies to each skill's nearest one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aico_memory.contracts.v1 import model_pb2
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.language.detection import is_foreign

Matrix = NDArray[np.float32]


def rows_of(embeddings: model_pb2.Embeddings, count: int) -> Matrix | None:
    """The vectors, one row a text; None where their number is not what was asked for."""
    flat = np.frombuffer(embeddings.vectors, dtype="<f4")
    if not embeddings.dimension or flat.size != count * embeddings.dimension:
        return None
    return flat.reshape(count, embeddings.dimension)


class TopicVectors:
    """Rows of unit vectors for one embedding fingerprint; asked for once, and again when the model changes.

    Topics in a language that the model does not speak are near to nothing.
    """

    def __init__(self, catalogue: Catalogue, languages: LanguageTable) -> None:
        self._languages = languages
        pairs = [(skill.skill_id, topic) for skill in catalogue for topic in skill.trigger.topics]
        self._skills: Sequence[str] = [skill_id for skill_id, _ in pairs]
        self.texts: Sequence[str] = [topic for _, topic in pairs]
        self.fingerprint = ""
        self._matrix: Matrix | None = None
        self._foreign: Sequence[bool] = ()

    def keep(self, embeddings: model_pb2.Embeddings) -> None:
        """Take the answer to `EmbedRequest(texts=self.texts)`."""
        self._matrix = rows_of(embeddings, len(self.texts))
        self.fingerprint = embeddings.fingerprint if self._matrix is not None else ""
        self._foreign = [is_foreign(text, embeddings.languages, self._languages) for text in self.texts]

    @property
    def known(self) -> bool:
        return self._matrix is not None

    def nearness(self, vector: Matrix, digits: int) -> dict[str, float]:
        """By skill: the largest cosine to one of its topics, rounded to `digits` decimals."""
        found: dict[str, float] = {}
        if self._matrix is None or vector.size != self._matrix.shape[1]:
            return found
        for skill_id, cosine, foreign in zip(self._skills, self._matrix @ vector, self._foreign, strict=True):
            if foreign:
                continue
            value = round(float(cosine), digits)
            found[skill_id] = max(value, found.get(skill_id, value))
        return found
