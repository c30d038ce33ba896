"""Reading the sentences of which a proposed skill's template is put together."""

from __future__ import annotations

from pathlib import Path

import yaml

from aico_memory.domain.behavioral.dimensions import DIMENSIONS
from aico_memory.domain.behavioral.proposals import Fragments
from aico_memory.errors import ConfigurationInvalid

FILE = "style_fragments.yaml"


def load_fragments(path: Path) -> Fragments:
    """(little, much) by dimension; ConfigurationInvalid names the file and what is wrong with it."""
    try:
        stated = yaml.safe_load(path.read_text(encoding="utf-8"))["fragments"]
        found = {str(name): (str(pair["low"]), str(pair["high"])) for name, pair in stated.items()}
    except OSError as error:
        raise ConfigurationInvalid(f"{path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationInvalid(f"{path}: each dimension needs `low` and `high`: {error}") from error
    if unknown := sorted(set(found) - set(DIMENSIONS)):
        raise ConfigurationInvalid(f"{path}: {unknown[0]} is no style dimension")
    return found
