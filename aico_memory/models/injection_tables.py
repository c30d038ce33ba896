"""The learned rules of injection on disk: `config/injection/<language>.yaml`, made by scripts/train_injection.py."""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml

from aico_memory.domain.formation.injection import InjectionRule
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import files_of, read_mapping
from aico_memory.models.half_floats import packed, unpacked
from aico_memory.paths import Home

FOLDER: Final = "injection"
_HEAD = "# Made by scripts/train_injection.py. Weights are little-endian 16-bit floats in base64, one for each run.\n"


def load_injection_rules(home: Home) -> dict[str, InjectionRule]:
    """Language -> its rule, the home's own file before the shipped one; ConfigurationInvalid names the file that is wrong."""
    found = {}
    for language, path in sorted(files_of(home, FOLDER).items()):
        content = read_mapping(path)
        try:
            found[language] = _rule_of(content)
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            raise ConfigurationInvalid(f"{path} holds no rule of injection: {error}") from error
    return found


def write_injection_rule(path: Path, rule: InjectionRule, provenance: Mapping[str, Any]) -> None:
    """Keep it; what was there before is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "threshold": round(rule.threshold, 4),
        "base": round(rule.base, 4),
        "provenance": dict(provenance),
        "weights": packed(np.array(list(rule.weights.values()), dtype=np.float32)),
        "runs": list(rule.weights),
    }
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None)
    path.write_text(_HEAD + text, encoding="utf-8")


def _rule_of(content: Mapping[str, Any]) -> InjectionRule:
    weights = unpacked(content["weights"]).tolist()
    runs = [str(run) for run in content["runs"]]
    if len(runs) != len(weights):
        raise ValueError(f"{len(runs)} runs and {len(weights)} weights")
    return InjectionRule(dict(zip(runs, weights, strict=True)), float(content["base"]), float(content["threshold"]))
