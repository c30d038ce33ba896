"""Settings of the write path: score, policy, gate, reinforcement, tags and co-activation."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from aico_memory.settings.section import Section

Mode = Literal["auto", "shadow", "manual"]
FilterName = Literal["length", "system_content", "prompt_injection", "xml_block", "list", "code", "emoji"]
FILTERS: tuple[FilterName, ...] = ("length", "system_content", "prompt_injection", "xml_block", "list", "code", "emoji")


class ClassScores(Section):
    """What the words of a class say for it; they choose a kind and are no confidence."""

    correction: float = Field(0.40, ge=0, le=1, description="Score of a word of correction.")
    decision: float = Field(0.35, ge=0, le=1, description="Score of a word of decision.")
    preference: float = Field(0.30, ge=0, le=1, description="Score of a word of preference.")
    entity_rich: float = Field(0.30, ge=0, le=1, description="Score of a message with several entities.")
    fact: float = Field(0.25, ge=0, le=1, description="Score of a word of fact.")


class ObserveSettings(Section):
    """Filters and classes of a message. Whatever they say, its record is stored and found."""

    filters: tuple[FilterName, ...] = Field(
        FILTERS, description="Filters that keep a message from making items. The others are named by `explain` only."
    )
    least_characters: int = Field(10, ge=0, le=1000, description="A message makes items if it has more characters.")
    short_statements: bool = Field(
        True,
        description='Whether a shorter one makes items all the same where it states something ("Evliyim.", "No, 1991."): '
        "of 5,119 messages of streams three are as short, and two of them do; of 1,311 such lines of chat four do.",
    )
    least_unspaced: int = Field(4, ge=0, le=1000, description="Fewest characters in a script without spaces.")
    most_characters: int = Field(5000, ge=10, le=1_000_000, description="A message makes items if it has fewer characters.")
    list_lines: int = Field(5, ge=1, le=1000, description="Lines of bullets or bold from which a message is a list.")
    code_share: float = Field(0.5, ge=0, le=1, description="Share of code above which a message is code.")
    most_emoji: int = Field(3, ge=0, le=1000, description="Most emoji of a message.")
    entity_rich: int = Field(2, ge=1, le=8, description="Entities from which a message is of the class entity_rich.")
    scores: ClassScores = Field(default_factory=ClassScores)
    injection_margin: float = Field(
        0.0,
        ge=-1,
        le=1,
        description="Added to the score from which a message is spelled like an attempt to give orders to the memory and "
        "binds nobody (config/injection): above 0 fewer wishes are mistaken for one, below 0 fewer are missed; 1: off.",
    )

    @model_validator(mode="after")
    def _lengths_leave_room(self) -> Self:
        if self.most_characters <= self.least_characters + 1:
            raise ValueError("most_characters must leave room above least_characters")
        return self


class FormSettings(Section):
    """What is formed of a message."""

    entities: int = Field(8, ge=1, le=100, description="Most entities of a message, in the order of mention.")
    foresight_days: float = Field(7.0, gt=0, le=3650, description="How long a plan holds where it names no end, in days.")


class ThresholdSettings(Section):
    """Cosine similarities at which the gate decides, for one embedding model."""

    reinforce: float = Field(0.92, gt=0, le=1, description="Above it the new says the same as the old.")
    update: float = Field(0.75, gt=0, le=1, description="From here on both are about the same and are put together.")
    create: float = Field(0.70, ge=0, le=1, description="Below it the new is something else.")
    create_importance: float = Field(0.6, ge=0, le=1, description="Importance from which the doubtful band creates.")
    echo: float = Field(0.75, gt=0, le=1, description="From here on an assistant's sentence repeats a memory it was given.")

    @model_validator(mode="after")
    def _bands_are_in_order(self) -> Self:
        if not self.create <= self.update < self.reinforce:
            raise ValueError("the thresholds must rise: create <= update < reinforce")
        return self


class CalibrationSettings(Section):
    """Mistakes that a calibration allows; the thresholds of an embedding model follow from them."""

    wrong_reinforce: float = Field(0.05, gt=0, lt=0.5, description="Statements that add or contradict, taken for the same.")
    wrong_update: float = Field(0.05, gt=0, lt=0.5, description="Other facts about the same matter, put together with it.")
    wrong_doubt: float = Field(0.10, gt=0, lt=0.5, description="Other facts about the same matter, held for doubtful.")
    missed_echo: float = Field(0.10, gt=0, lt=0.5, description="Rewordings by the assistant that are not seen as such.")


class PredictionErrorSettings(Section):
    """The gate's thresholds, and how many doubts one fact may carry."""

    default: ThresholdSettings = Field(default_factory=ThresholdSettings)
    calibrated: dict[str, ThresholdSettings] = Field(
        default_factory=dict,
        description="Thresholds by fingerprint of the embedding model; else those of config/calibration, else `default`.",
    )
    calibration: CalibrationSettings = Field(default_factory=CalibrationSettings)
    variants: int = Field(3, ge=0, le=100, description="Most variants that hang on one fact.")
    same_wording: float = Field(0.6, gt=0, le=1, description="Shared words from which another number contradicts.")


class PolicySettings(Section):
    """The policy that a scope starts with; what is changed later is kept as versions."""

    mode: Mode = Field("auto", description="auto: active; shadow: seen by operators only; manual: waits for review.")
    write_enabled: bool = Field(True, description="Whether items are written at all; records always are.")
    read_only: bool = Field(False, description="Emergency: nothing of the items changes.")
    kinds: tuple[str, ...] = Field((), description="Kinds that may be written; empty: all.")
    require_approval_kinds: tuple[str, ...] = Field((), description="Kinds that wait for review in every mode.")
    min_confidence: float = Field(0.6, ge=0, le=1, description="Confidence below which nothing is written.")
    min_evidence: int = Field(1, ge=1, le=100, description="Events that an item rests on at least.")
    session_writes: int = Field(
        10, ge=0, le=1_000_000,
        description="Fast-path writes a session, from which what is only inferred waits. What is stated outright and what "
        "changes a known fact is written at once, and counts. 0: no limit.",
    )  # fmt: skip
    hour_writes: int = Field(
        50, ge=0, le=1_000_000, description="The same of an hour. 0: no limit.",
    )  # fmt: skip
    scope_items: int = Field(
        200, ge=0, le=10_000_000, description="Active items a scope; those said longest ago go dormant. 0: no limit."
    )  # fmt: skip
    versions_kept: int = Field(100, ge=1, le=10_000, description="Earlier policies kept for a rollback.")


class ScoreSettings(Section):
    """What makes a statement important when it is written."""

    flashbulb_arousal: float = Field(0.8, ge=0, le=1, description="Arousal from which a memory is a flashbulb.")
    flashbulb_importance: float = Field(0.9, ge=0, le=1, description="Importance that a flashbulb has at least.")
    urgency_word: float = Field(0.2, ge=0, le=1, description="Arousal that one word of urgency, security or deadline adds.")
    unknown_reward: float = Field(0.5, ge=0, le=1, description="Reward where nothing similar is known.")
    similar_from: float = Field(0.5, ge=0, le=1, description="Similarity from which an item tells of the reward.")
    recent_queries: int = Field(10, ge=0, le=1000, description="Last questions of a scope that tell what it attends to.")
    question_characters: int = Field(8, ge=1, le=500, description='Questions shorter than this ("Really?") tell nothing of it.')


class InteractionSettings(Section):
    """Reinforcement of what a response used."""

    delta: float = Field(0.02, ge=0, le=1, description="Confidence that a match adds.")
    window: int = Field(80, ge=12, le=500, description="Leading characters of an item that are looked for.")
    min_characters: int = Field(12, ge=1, le=500, description="Items shorter than this never match.")


class TagSettings(Section):
    """Synaptic tags and capture, co-activation, spreading."""

    tag_below: float = Field(0.5, ge=0, le=1, description="Importance below which an item is tagged.")
    tag_hours: float = Field(4.0, gt=0, le=8760, description="How long a tag lasts, in h.")
    capture_from: float = Field(0.7, ge=0, le=1, description="Importance from which an item captures tagged ones.")
    capture_factor: float = Field(1.3, ge=1, le=10, description="Factor on the stability of what is captured, once.")
    together_factor: float = Field(1.02, ge=1, le=10, description="Factor on the stability of items retrieved together.")
    pair_count: int = Field(
        3, ge=1, le=1_000_000, description="Times together from which a pair is favoured in ranking and related at night."
    )
    pair_items: int = Field(
        10, ge=2, le=100, description="Best items of an answer that count as together, of those that matched well."
    )
    spread_factor: float = Field(1.02, ge=1, le=10, description="Factor on the stability of neighbours of a used item.")


class WorkSettings(Section):
    """How much the write path looks at and keeps for one statement."""

    recent_messages: int = Field(6, ge=0, le=100, description="Messages of the session before one, read for what it refers to.")
    recent_sessions: int = Field(1000, ge=1, le=1_000_000, description="Sessions whose last messages are held in memory.")
    neighbours: int = Field(10, ge=1, le=1000, description="Most similar items that a statement is compared with.")
    readings: int = Field(200, ge=1, le=10_000, description="Items of its subject and predicate that it is compared with.")
    statements: int = Field(200, ge=10, le=100_000, description="Statements of one key that its history is told from.")
    waiting: int = Field(200, ge=1, le=100_000, description="Statements that one batch of sleep takes up beside its own.")
    embed_seconds: float = Field(5.0, gt=0, le=600, description="Wait for one answer with the vectors of statements, in s.")
    embed_patience_seconds: float = Field(
        30.0,
        ge=0,
        le=3600,
        description="How long a model that was there is asked again, so that a restart changes nothing. In s.",
    )
    embed_pause_seconds: float = Field(
        60.0, ge=0, le=3600, description="How long nobody asks again after that; keys decide meanwhile. In s."
    )
    kept_days: float = Field(90.0, gt=0, le=36_500, description="Days that explanations and interactions are kept.")


class WritePathSettings(Section):
    """`write_path` in config/memory.yaml."""

    observe: ObserveSettings = Field(default_factory=ObserveSettings)
    form: FormSettings = Field(default_factory=FormSettings)
    score: ScoreSettings = Field(default_factory=ScoreSettings)
    policy: PolicySettings = Field(default_factory=PolicySettings)
    prediction_error: PredictionErrorSettings = Field(default_factory=PredictionErrorSettings)
    interactions: InteractionSettings = Field(default_factory=InteractionSettings)
    tags: TagSettings = Field(default_factory=TagSettings)
    work: WorkSettings = Field(default_factory=WorkSettings)
