"""The root of all settings: one attribute a section, one module a section's owner."""

from __future__ import annotations

from pydantic import Field

from aico_memory.settings.behavioral import BehavioralSettings
from aico_memory.settings.bus import BusSettings
from aico_memory.settings.consolidation import ConsolidationSettings
from aico_memory.settings.context import ContextSettings
from aico_memory.settings.guardrails import GuardrailSettings
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.language_model import LanguageModelSettings
from aico_memory.settings.link import LinkSettings
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.settings.models import ModelSettings
from aico_memory.settings.recall import RecallSettings
from aico_memory.settings.retrieval import RetrievalSettings
from aico_memory.settings.runtime import RuntimeSettings
from aico_memory.settings.scheduler import SchedulerSettings
from aico_memory.settings.section import Section
from aico_memory.settings.security import SecuritySettings
from aico_memory.settings.semantic import SemanticSettings
from aico_memory.settings.working import WorkingSettings
from aico_memory.settings.write_path import WritePathSettings


class Settings(Section):
    """All settings of a deployment (`config/memory.yaml`)."""

    bus: BusSettings = Field(default_factory=BusSettings)
    link: LinkSettings = Field(default_factory=LinkSettings)
    identity: IdentitySettings = Field(default_factory=IdentitySettings)
    security: SecuritySettings = Field(default_factory=SecuritySettings)
    runtime: RuntimeSettings = Field(default_factory=RuntimeSettings)
    models: ModelSettings = Field(default_factory=ModelSettings)
    language_model: LanguageModelSettings = Field(default_factory=LanguageModelSettings)
    working: WorkingSettings = Field(default_factory=WorkingSettings)
    semantic: SemanticSettings = Field(default_factory=SemanticSettings)
    memory_model: MemoryModelSettings = Field(default_factory=MemoryModelSettings)
    write_path: WritePathSettings = Field(default_factory=WritePathSettings)
    recall: RecallSettings = Field(default_factory=RecallSettings)
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
    behavioral: BehavioralSettings = Field(default_factory=BehavioralSettings)
    consolidation: ConsolidationSettings = Field(default_factory=ConsolidationSettings)
    scheduler: SchedulerSettings = Field(default_factory=SchedulerSettings)
    context: ContextSettings = Field(default_factory=ContextSettings)
    guardrails: GuardrailSettings = Field(default_factory=GuardrailSettings)
