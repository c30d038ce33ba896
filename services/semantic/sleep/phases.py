"""The phases of sleep that this worker takes, each a module of its own."""

from __future__ import annotations

from aico_memory.models.place_tables import load_place_cues
from aico_memory.paths import Home
from aico_memory.settings.root import Settings
from services.semantic.sleep.evolving import History, WeeklyEvolution
from services.semantic.sleep.expiring import Expiry
from services.semantic.sleep.forgetting import Forgetting
from services.semantic.sleep.phase import SleepPhase
from services.semantic.sleep.placing import Places
from services.semantic.sleep.replaying import Synapses
from services.semantic.sleep.strength_phases import Decay, Emotion, Rehearsal, Utility
from services.semantic.write_path import WritePath


def sleep_phases(home: Home, settings: Settings, write_path: WritePath) -> tuple[SleepPhase, ...]:
    """All phases, in no particular order: who asks for them knows it."""
    model, tags = settings.memory_model, settings.write_path.tags
    return (
        Decay(model),
        Emotion(model),
        Synapses(model, tags),
        Places(model, load_place_cues(home)),
        Utility(model),
        Rehearsal(model),
        Expiry(model.kinds, write_path.graphing),
        Forgetting(model),
        WeeklyEvolution(model, settings.write_path.work.statements),
        History(model),
    )
