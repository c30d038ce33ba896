"""Settings of the behavioral section."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from aico_memory.clock import is_zone
from aico_memory.settings.outcomes import OutcomeSettings
from aico_memory.settings.section import Section

# Of `behavioral`, what decides which skill is taken: a trial of anything else would say that nothing changes.
DECIDING: Final = ("policy", "trigger", "diversity", "hybrid", "hierarchical", "prior", "learning")


class TriggerSettings(Section):
    """Trigger matching: weights before they are renormalised over what a skill states."""

    intent: float = Field(0.40, ge=0, le=1, description="Weight of an intent in the skill's list.")
    time_of_day: float = Field(0.15, ge=0, le=1, description="Weight of a time of day in the skill's list.")
    sentiment: float = Field(0.15, ge=0, le=1, description="Weight of a sentiment in the skill's list.")
    topic: float = Field(0.30, ge=0, le=1, description="Weight of the cosine to the skill's nearest topic.")
    threshold: float = Field(0.5, gt=0, le=1, description="A skill applies from this trigger score on.")
    candidates: int = Field(5, ge=1, le=100, description="Best applying skills that the policy chooses among.")


class DiversitySettings(Section):
    """The bound on one skill's share of a person's selections."""

    share: float = Field(0.9, ge=0, le=1, description="Above it the best valid alternative is taken; 1: no bound.")
    least: int = Field(50, ge=1, le=100_000, description="Selections of a person before a share says anything.")
    margin: float = Field(0.05, ge=0, le=1, description="How far an alternative may score below and still be valid.")
    confidence: float = Field(0.3, ge=0, le=1, description="Least confidence of an alternative.")


class HybridSettings(Section):
    """The policy hybrid-40-30-30."""

    trigger: float = Field(0.40, ge=0, le=1, description="Share of the trigger score.")
    posterior: float = Field(0.30, ge=0, le=1, description="Share of the Thompson sample.")
    alignment: float = Field(0.30, ge=0, le=1, description="Share of the alignment with the preference.")
    confidence_floor: float = Field(0.3, ge=0, le=1, description="Skills below this confidence are used by exploration only.")
    epsilon_start: float = Field(0.1, ge=0, le=1, description="Rate of exploration before any feedback.")
    epsilon_decay: float = Field(0.95, gt=0, le=1, description="Factor on that rate per thumb of the user.")
    epsilon_floor: float = Field(0.05, ge=0, le=1, description="Lowest rate of exploration.")
    propensity_draws: int = Field(
        128, ge=0, le=4096, description="Draws by which the chance of a choice is counted; 0: untold."
    )

    @model_validator(mode="after")
    def _shares_are_a_whole(self) -> Self:
        if abs(self.trigger + self.posterior + self.alignment - 1.0) > 1e-9:
            raise ValueError("the shares trigger, posterior and alignment must sum to 1")
        return self


class LearningSettings(Section):
    """What one thumb teaches."""

    target_base: float = Field(0.5, ge=0, le=1, description="Target of confidence for a reward of 0.")
    target_span: float = Field(0.3, ge=0, le=0.5, description="What a reward of 1 adds to the target, and -1 takes away.")
    fast_rate: float = Field(0.3, gt=0, le=1, description="Rate of the moving average below fast_uses judged uses.")
    slow_rate: float = Field(0.1, gt=0, le=1, description="Rate of the moving average afterwards.")
    fast_uses: int = Field(10, ge=0, le=10_000, description="Judged uses below which the fast rate holds.")
    confidence_low: float = Field(0.2, ge=0, le=1, description="Lowest confidence.")
    confidence_high: float = Field(0.9, ge=0, le=1, description="Highest confidence.")
    preference_rate: float = Field(0.1, gt=0, le=1, description="Part of the way a preference moves per thumb.")

    @model_validator(mode="after")
    def _bounds_are_in_order(self) -> Self:
        if self.confidence_low >= self.confidence_high:
            raise ValueError("confidence_low must be below confidence_high")
        return self


class HierarchicalSettings(Section):
    """The policy hierarchical-thompson."""

    temperature: float = Field(
        0.1, ge=0, le=2, description="Factor on the posterior's standard deviation when sampling; 0 never explores."
    )
    propensity_draws: int = Field(128, ge=0, le=4096, description="Draws by which the chance of a choice is counted.")
    level: float = Field(0.62, gt=0, lt=1, description="Expected chance of a thumb up before anything is known.")
    slope: float = Field(0.1, ge=0, le=1, description="What a full trigger adds to that chance over an empty one.")
    design: float = Field(
        0.04, ge=0, le=0.5, description="What a typical step towards the style of an intent's base skills adds to it."
    )
    cells: int = Field(
        200, ge=16, le=1000, description="Situations and skills a person's posterior tells apart; beyond them they merge."
    )
    cached_users: int = Field(
        1024, ge=1, le=100_000, description="People whose skills and posterior are kept in memory: 58 KB each with 100 skills."
    )
    content_weight: float = Field(
        0.25, ge=0, le=1, description="How much a thumb counts for style where its reason is wrong content."
    )


class PriorSettings(Section):
    """The common prior of all people, and how it is learned."""

    source: Literal["learned", "shipped", "base-skills"] = Field(
        "learned",
        description="learned: from many people once there are enough, before that the shipped one; shipped: config/"
        "behavioral_prior.yaml; base-skills: what the base skills are made for, and nothing else.",
    )
    k: int = Field(5, ge=2, le=1000, description="Fewest people behind a learned prior and behind each sum in it.")
    people: int = Field(200, ge=2, le=100_000, description="Most people that one refit reads.")
    least_thumbs: int = Field(10, ge=1, le=1_000_000, description="Thumbs of all people read without which it does not refit.")
    fresh_thumbs: int = Field(5, ge=1, le=1_000_000, description="New thumbs without which the nightly batch does not refit.")
    evaluate_people: int = Field(40, ge=0, le=10_000, description="People on whom a refitted prior is tried out before use.")
    evaluate_thumbs: int = Field(12, ge=1, le=1000, description="Latest thumbs of each of them that it is tried out on.")


class EvaluationSettings(Section):
    """How a changed policy is tried out on what was logged."""

    people: int = Field(100, ge=1, le=100_000, description="Most people whose log is replayed.")
    decisions: int = Field(20, ge=1, le=100_000, description="Latest judged decisions of each that are weighed.")
    draws: int = Field(16, ge=1, le=4096, description="Draws by which the chance of a choice is counted.")
    least_decisions: int = Field(100, ge=1, le=1_000_000, description="Usable decisions below which it recommends nothing.")
    least_effective: float = Field(
        30.0, ge=1, description="The same for decisions of equal weight that say as much (Kish's effective number)."
    )


class LibrarySettings(Section):
    """Skills of users' own."""

    user_skills: int = Field(100, ge=0, le=10_000, description="Most skills of a user's own.")
    dimension_rate: float = Field(
        0.05, ge=0, le=1, description="Part of the way that an own skill's style follows the preference per thumb up."
    )
    signal_step: float = Field(
        0.05, ge=0, le=0.5, description="How far a reason or a category of text moves a preference in the nightly batch."
    )
    stated_weight: float = Field(
        3.0,
        ge=0,
        le=100,
        description="How surely a style that a person states is meant, beside the reason of a thumb; 0: selection ignores it.",
    )
    bytes_per_user: int = Field(1_048_576, ge=10_000, description="Learned data of a user beyond which skills are archived.")
    archive_at_once: int = Field(10, ge=1, le=1000, description="Least valuable skills that are archived at a time.")
    base_value: float = Field(1.5, ge=1, le=10, description="Factor on the confidence of base skills when ranking them.")


class ProposalSettings(Section):
    """When a skill is proposed to a user whom everything at hand keeps missing."""

    thumbs: int = Field(20, ge=1, le=100_000, description="Thumbs in one context before anything is proposed for it.")
    down_share: float = Field(0.6, ge=0, le=1, description="Share of them that must point down.")
    moved: float = Field(0.3, ge=0, le=4, description="Least distance of the preference from neutral.")
    distance: float = Field(0.8, ge=0, le=4, description="Least distance of the preference from every skill at hand.")
    pronounced: float = Field(0.06, ge=0, le=0.5, description="A dimension this far from neutral gets its sentence.")
    sentences: int = Field(5, ge=1, le=16, description="Most sentences of a proposed template.")


class RefinementSettings(Section):
    """When another template is proposed for a skill of a user's own."""

    wishes: int = Field(
        3, ge=1, le=100_000, description="So often must feedback on a version wish more, or less, of a style dimension."
    )
    step: float = Field(0.2, ge=0, le=1, description="How far the style of the dimension moves.")
    sentences: int = Field(5, ge=1, le=16, description="Most sentences that are added at once.")


class MetricsSettings(Section):
    """Figures of how well selection does."""

    window: int = Field(10, ge=1, le=1000, description="Thumbs of which a person's moving accuracy is made.")
    goal: float = Field(0.7, gt=0, le=1, description="Accuracy from which a person counts as served well.")
    retention_days: int = Field(7, ge=1, le=365, description="Retention compares so many days with as many before.")
    people: int = Field(200, ge=1, le=100_000, description="Most people that hourly figures look at.")


class FeedbackTextSettings(Section):
    """How feedback in a person's own words is sorted into categories."""

    penalty: float = Field(0.3, gt=0, le=100, description="Ridge penalty of the regression on runs of characters.")
    meaning_penalty: float = Field(1.0, gt=0, le=1000, description="Ridge penalty of the regression on embeddings.")
    sharpness: float = Field(
        7.0, gt=0, le=100, description="Factor on the scores of the spelling alone before they become chances."
    )
    threshold: float = Field(
        0.35,
        ge=0,
        le=1,
        description="A text that the spelling alone sorted moves preferences by the categories that are at least this likely.",
    )
    thresholds: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(
        default_factory=dict,
        description="The same where an embedding model helped, by its fingerprint; left out: what was calibrated for it "
        "(config/feedback/trained).",
    )
    precision: float = Field(
        0.7, gt=0, lt=1, description="Share of what is acted on that is to be right, by which a threshold is calibrated."
    )
    model_wait_ms: int = Field(
        4000, ge=1, le=60_000, description="Wait for the embedding of one text, in ms; then its spelling alone answers."
    )
    model_retry_ms: int = Field(500, ge=1, le=60_000, description="The same after it did not answer the last time, in ms.")
    night_wait_ms: int = Field(
        10_000, ge=1, le=300_000, description="Wait for the embeddings of a nightly batch of texts, in ms."
    )
    batch: int = Field(128, ge=1, le=10_000, description="Stored texts that one step of the nightly batch sorts.")


class BehavioralSettings(Section):
    """`behavioral` in config/memory.yaml."""

    seed: int = Field(0, ge=0, le=2**63 - 1, description="Seed of the deployment: with the request id it fixes every draw.")
    policy: str = Field("hierarchical-thompson", min_length=1, max_length=64, description="Name of the selection policy.")
    zone: str = Field("UTC", min_length=1, max_length=64, description="IANA zone of people who name none.")
    trigger: TriggerSettings = Field(default_factory=TriggerSettings)
    diversity: DiversitySettings = Field(default_factory=DiversitySettings)
    hybrid: HybridSettings = Field(default_factory=HybridSettings)
    hierarchical: HierarchicalSettings = Field(default_factory=HierarchicalSettings)
    prior: PriorSettings = Field(default_factory=PriorSettings)
    evaluation: EvaluationSettings = Field(default_factory=EvaluationSettings)
    learning: LearningSettings = Field(default_factory=LearningSettings)
    library: LibrarySettings = Field(default_factory=LibrarySettings)
    proposals: ProposalSettings = Field(default_factory=ProposalSettings)
    refinements: RefinementSettings = Field(default_factory=RefinementSettings)
    metrics: MetricsSettings = Field(default_factory=MetricsSettings)
    outcomes: OutcomeSettings = Field(default_factory=OutcomeSettings)
    feedback_text: FeedbackTextSettings = Field(default_factory=FeedbackTextSettings)
    model_deadline_ms: int = Field(
        10_000,
        ge=10,
        le=60_000,
        description="Wait for the model service, while it is well, where nobody waits for the answer (a replay; a restart "
        "fits in), in ms; then the text's marks decide.",
    )
    model_wait_ms: int = Field(
        1000, ge=10, le=60_000, description="The same where somebody does, in ms; what was left out is said in the answer."
    )
    model_retry_ms: int = Field(100, ge=1, le=60_000, description="Wait for it after it has not answered, in ms.")
    cosine_digits: int = Field(
        3, ge=1, le=7, description="Digits of a topic cosine that count: beyond them batches of the model differ."
    )
    cached_topics: int = Field(
        1024,
        ge=0,
        le=1_000_000,
        description="Texts of requests whose embedding is kept in memory to compare it with topics: no model is asked again.",
    )
    night_minutes: float = Field(
        30, ge=0, le=1440, description="Minutes of a nightly batch after which the next one makes the proposals left; 0: none."
    )
    archive_days: int = Field(90, ge=1, le=36_500, description="Trajectories without feedback are archived after so many days.")
    delete_days: int = Field(365, ge=1, le=36_500, description="Archived trajectories are deleted after so many days more.")
    history_days: int = Field(
        730,
        ge=1,
        le=36_500,
        description="Selections without a trajectory, the course of confidence and hourly figures are deleted after so many "
        "days; thumbs stay.",
    )

    @field_validator("zone")
    @classmethod
    def _zone_is_known(cls, name: str) -> str:
        if not is_zone(name):
            raise ValueError(f"{name!r} is no IANA zone that this machine knows; for example Europe/Zurich")
        return name
