"""The weights that tell whom to believe, the span reader or the rules; made by scripts/train_reader_trust.py."""

from __future__ import annotations

from pathlib import Path

from aico_memory.domain.recall.deciding import Reader
from aico_memory.domain.recall.reading.trust import OPTIONS, Trust
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import read_mapping
from aico_memory.models.span_reader import FOLDER, load_span_reader
from aico_memory.paths import Home, config_file

TRUST_FILE = "trust.yaml"


def load_trust(home: Home) -> Trust:
    """The weights beside the home's own reader, else beside the shipped one. Raises ConfigurationInvalid."""
    return read_trust(config_file(home, FOLDER) / TRUST_FILE)


def read_trust(file: Path) -> Trust:
    """The weights of a file. Raises ConfigurationInvalid."""
    content = read_mapping(file)
    try:
        options = content["options"]
        return Trust({name: {key: float(value) for key, value in options[name].items()} for name in OPTIONS})
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise ConfigurationInvalid(
            f"{file} does not hold weights by feature for {', '.join(OPTIONS)}",
            "Make it with scripts/train_reader_trust.py, or restore the shipped folder.",
        ) from error


def load_reader(home: Home) -> Reader:
    """Network and trust, for this process."""
    return Reader(load_span_reader(home), load_trust(home))
