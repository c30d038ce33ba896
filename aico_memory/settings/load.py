"""Reading the settings: shipped file, then the home's own file, then environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from aico_memory.errors import ConfigurationInvalid
from aico_memory.paths import Home, shipped_config
from aico_memory.settings.root import Settings

FILE = "memory.yaml"
# AICO_MEMORY_SET__bus__max_bytes=2000000 sets bus.max_bytes.
ENVIRONMENT_PREFIX = "AICO_MEMORY_SET__"


def load_settings(home: Home, environment: Mapping[str, str] | None = None) -> Settings:
    """The validated settings of a home; ConfigurationInvalid names file and key."""
    merged: dict[str, Any] = {}
    sources = []
    for path in (shipped_config() / FILE, home.config / FILE):
        if path.exists():
            _merge(merged, _read(path))
            sources.append(str(path))
    for name, value in sorted((os.environ if environment is None else environment).items()):
        if name.startswith(ENVIRONMENT_PREFIX):
            try:
                read = yaml.safe_load(value)
            except yaml.YAMLError as error:
                raise ConfigurationInvalid(f"{name} is no valid YAML: {error}") from error
            _merge(merged, _nested(name.removeprefix(ENVIRONMENT_PREFIX).split("__"), read))
            sources.append(name)
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ConfigurationInvalid(f"{key}: {first['msg']} (read from {', '.join(sources)})") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ConfigurationInvalid(f"{path} is no valid YAML: {error}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigurationInvalid(f"{path} must hold a mapping")
    return content


def _nested(keys: list[str], value: Any) -> dict[str, Any]:
    return {keys[0]: value if len(keys) == 1 else _nested(keys[1:], value)}


def _merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value
