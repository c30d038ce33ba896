"""Held-out sentences: what people might write of an answer, with the category that each belongs to."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from aico_memory.domain.feedback.phrases import Phrase, lines_of
from aico_memory.domain.text_regression.grams import plain
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import read_mapping

FOLDER = Path(__file__).parent / "sentences"
# `development` may be looked at while phrases are written, in totals only; `final` is scored when they are done.
PARTS = ("development", "final")


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What is scored, and how many sentences were left out because they stand among the phrases."""

    sentences: tuple[Phrase, ...]
    left_out: int


def load_sentences(folder: Path, part: str, known: Collection[Phrase]) -> HeldOut:
    """The sentences of a folder of <language>.yaml files, each with the categories, or with parts that hold them.

    `part` "" means all parts. ConfigurationInvalid names the file that is wrong.
    """
    taught = {(phrase.language, plain(phrase.text)) for phrase in known}
    found: list[Phrase] = []
    for path in sorted(folder.glob("*.yaml")):
        content = read_mapping(path)
        parts = {name: content[name] for name in PARTS if name in content} or {"": content}
        try:
            for name, categories in parts.items():
                if part in ("", name) or not name:
                    found += [Phrase(path.stem, category, text) for category, text in lines_of(categories)]
        except ValueError as error:
            raise ConfigurationInvalid(f"{path}: {error}") from error
    if not found:
        raise ConfigurationInvalid(f"{folder} holds no sentences")
    fresh = tuple(one for one in found if (one.language, plain(one.text)) not in taught)
    return HeldOut(fresh, len(found) - len(fresh))
