"""The phases that make knowledge of many items: clusters, themes, redundancy, abstraction, kinds, variants, index."""

from __future__ import annotations

from collections.abc import Mapping

from aico_memory.models.sleep_tables import SleepWords
from aico_memory.settings.root import Settings
from services.semantic.graphing import Graphing
from services.semantic.sleep.abstracting import Abstraction, KindSummaries
from services.semantic.sleep.deriving import Deriving
from services.semantic.sleep.merging import Redundancy
from services.semantic.sleep.phase import SleepPhase
from services.semantic.sleep.pruning import Variants
from services.semantic.sleep.reading import SnapshotReader
from services.semantic.sleep.theming import Clusters, Themes
from services.semantic.sleep.verifying import UnifiedIndex
from services.semantic.sleep.wishing import Wishes
from services.semantic.tokens import FormationRules


def knowledge_phases(
    settings: Settings,
    graphing: Graphing,
    rules: FormationRules,
    languages: Mapping[str, SleepWords],
    wishes: Wishes | None = None,
) -> tuple[SleepPhase, ...]:
    """All of them, in the order in which they follow each other; `wishes` where a language model tells summaries anew."""
    model = settings.memory_model
    reader = SnapshotReader(rules, model.knowledge)
    deriving = Deriving(rules, model.retention, wishes, model.knowledge.theme_characters)
    return (
        Clusters(reader, model),
        Themes(reader, deriving, model),
        Redundancy(languages, model.knowledge),
        Abstraction(reader, deriving, languages, model),
        KindSummaries(reader, deriving, languages, model),
        Variants(graphing, model, settings.write_path.tags),
        UnifiedIndex(graphing),
    )
