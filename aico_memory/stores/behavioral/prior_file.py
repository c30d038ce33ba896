"""Reading the shipped population prior; every fault is named with its file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import yaml

from aico_memory.domain.behavioral.prior import Prior, prior_from_data
from aico_memory.errors import ConfigurationInvalid, InvalidMessage

FILE = "behavioral_prior.yaml"


def load_prior(path: Path, cold: Prior) -> Prior:
    """The shipped prior: what the file says over `cold`, which stands for what it leaves out.

    Its tastes are added to those that the base skills' own design gives.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        body = dict(content["prior"])
    except OSError as error:
        raise ConfigurationInvalid(f"{path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationInvalid(
            f"{path} is no prior: {error}", "Make it again: scripts/build_behavioral_prior.py."
        ) from error
    try:
        stated = prior_from_data(body)
    except InvalidMessage as error:
        raise ConfigurationInvalid(f"{path}: {error.detail}") from error
    tastes = dict(cold.taste_by_intent)
    for intent, vector in stated.taste_by_intent.items():
        tastes[intent] = tuple(a + b for a, b in zip(tastes.get(intent, (0.0,) * len(vector)), vector, strict=True))
    return replace(
        stated,
        level=stated.level if "level" in body else cold.level,
        slope=stated.slope if "slope" in body else cold.slope,
        spread=stated.spread if "spread" in body else cold.spread,
        taste_by_intent=tastes,
    )
