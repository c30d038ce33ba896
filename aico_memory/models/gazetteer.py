"""Reading the gazetteer from the configuration folder."""

from __future__ import annotations

from aico_memory.domain.formation.entities import Gazetteer, slug
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import read_mapping
from aico_memory.paths import Home, config_file

ENTITIES_FILE = "entities.yaml"


def load_gazetteer(home: Home) -> Gazetteer:
    """Known names; ConfigurationInvalid where the file is not of its form."""
    path = config_file(home, ENTITIES_FILE)
    content = read_mapping(path)
    names: dict[str, str] = {}
    if not isinstance(content.get("names"), dict):
        raise ConfigurationInvalid(f"{path}: `names` must hold a mapping")
    for kind, entries in content["names"].items():
        for entry in entries:
            name, spellings = next(iter(entry.items())) if isinstance(entry, dict) else (entry, ())
            uri = f"entity://{kind}/{slug(str(name))}"
            names.update((str(spelling).casefold(), uri) for spelling in (name, *spellings))
    longest = max((len(name.split()) for name in names), default=1)
    return Gazetteer(names, frozenset(str(word).casefold() for word in content.get("not_names", ())), longest)
