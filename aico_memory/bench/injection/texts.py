"""The texts of many hands: attempts to give orders to the memory, and ordinary wishes in much the same words."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from aico_memory.bench.facts.streams import LEARN, load_streams
from aico_memory.domain.formation.injection_learning import Text
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import read_mapping

FOLDER: Final = Path(__file__).parent / "texts"
# Messages of the streams to learn from that a language's rule learns as ordinary.
ORDINARY: Final = 1200


def load_texts(folder: Path = FOLDER) -> dict[str, list[Text]]:
    """Language -> the texts of its files `<language>-<hand>.yaml`, each with the lists `attack` and `benign`.

    Files without attempts hold plain wishes, which nobody wrote to be mistaken.
    ConfigurationInvalid names the file that is wrong.
    """
    found: dict[str, list[Text]] = {}
    for path in sorted(folder.glob("*-*.yaml")):
        content = read_mapping(path)
        lists = [content.get(name) for name in ("attack", "benign")]
        if any(not isinstance(some, list) or not all(isinstance(one, str) for one in some) for some in lists):
            raise ConfigurationInvalid(f"{path} must hold the lists of texts attack and benign")
        language = path.stem.partition("-")[0]
        for attempt, some in zip((True, False), lists, strict=True):
            found.setdefault(language, []).extend(Text(text, attempt, path.stem) for text in some or ())
    return found


def ordinary_messages(half: str = LEARN) -> dict[str, list[str]]:
    """Language -> distinct messages of the streams of facts of this half, in an order that tells nothing of them."""
    found: dict[str, set[str]] = {}
    for stream in load_streams(learned=half == LEARN):
        if stream.half == half:
            found.setdefault(stream.language, set()).update(message.text for message in stream.said)
    return {language: sorted(some, key=lambda text: (zlib.crc32(text.encode()), text)) for language, some in found.items()}


def digest_of(texts: Sequence[Text]) -> str:
    """SHA-256 over the texts, in hexadecimal: what a rule was learned from."""
    return hashlib.sha256("\n".join(f"{one.hand}\t{one.attempt}\t{one.words}" for one in texts).encode()).hexdigest()
