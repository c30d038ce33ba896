"""What becomes of a statement: the table of specification 3 as a total function.

Every statement, with whatever is known, has exactly one decision; each names its
rule. `action` is what is done under the policy, `instead` what `auto` would do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from aico_memory.domain.formation.formed import NEWEST
from aico_memory.domain.gate.comparing import Comparison, compare, is_closest
from aico_memory.domain.gate.policy import Admission, WritePolicy, write_status
from aico_memory.domain.gate.statement import CLOSING, Known, Neighbour, Statement
from aico_memory.domain.scopes import is_of_another
from aico_memory.settings.write_path import PredictionErrorSettings, ThresholdSettings

ACTIONS: Final = (
    "CREATE", "REINFORCE", "UPDATE", "SUPERSEDE", "VARIANT", "REPLACE_VARIANT", "DISCARD", "SKIP", "CANDIDATE", "SHADOW",
    "RETRACT", "END", "NOTHING",
)  # fmt: skip
# What writes or changes an item, so that review may have to come first.
WRITING: Final = frozenset({"CREATE", "UPDATE", "SUPERSEDE", "VARIANT", "REPLACE_VARIANT", "RETRACT", "END"})
# The statement is kept among those of its key, and the chain of the key is folded with it.
CHAINED: Final = frozenset({"CREATE", "REINFORCE", "UPDATE", "SUPERSEDE", "RETRACT", "END", "NOTHING"})


@dataclass(frozen=True, slots=True)
class Decision:
    """One action, on which item, by which rule and why."""

    action: str
    rule: str
    reason: str
    # The item that is reinforced, changed, contradicted or replaced; empty where there is none.
    target: bytes = b""
    # What would have been done without review.
    instead: str = ""
    # Sleep takes it up.
    waits: bool = False


def thresholds_for(fingerprint: str, figures: PredictionErrorSettings) -> ThresholdSettings:
    """Those that were calibrated for the embedding model, else the default."""
    return figures.calibrated.get(fingerprint, figures.default)


def names_part_of(named: str, known: str) -> bool:
    """Whether one names the other in part, word by word."""
    return bool(named and known) and (f" {named} " in f" {known} " or f" {known} " in f" {named} ")


def resolved(
    new: Statement, neighbours: Sequence[Neighbour], same_object: Callable[[str, str], bool] = names_part_of
) -> Statement:
    """With what only the stored items tell: whose value is corrected ("no, Thursday"), which value a change leaves.

    Done before `in_chains`; unchanged where nothing stored is meant. `same_object`
    tells whether two normalised objects are the same in another form ("the dog", "dog").
    """
    fact = new.fact
    if fact.corrected == NEWEST:
        left = [
            one.known for one in neighbours
            if (one.known.subject, one.known.predicate) == (fact.subject, fact.predicate)
            and one.known.memory.status == "active" and one.known.object_key != fact.object_key
            and one.known.memory.scope == new.scope
        ]  # fmt: skip
        newest = max(left, key=lambda one: one.memory.said_order, default=None)
        return replace(new, fact=replace(fact, corrected=newest.object_key if newest else ""))
    value = fact.corrected or (fact.object_key if fact.act in CLOSING else "")
    if fact.predicate and value and not fact.single_valued:
        object_key = _in_its_form(new, value, neighbours, same_object)
        return new if object_key == value else replace(new, fact=replace(fact, corrected=object_key))
    if fact.predicate or fact.act not in {"correct", "retract", "end"} or not fact.corrected:
        return new
    meant = [
        one for one in neighbours
        if one.known.predicate and one.known.object_key == fact.corrected and one.known.memory.scope == new.scope
        and not is_of_another(one.known.subject, one.known.memory, new.owner)
    ]  # fmt: skip
    if not meant:
        return new
    known = max(meant, key=lambda one: (one.known.memory.status == "active", one.similarity, one.known.memory.memory_id)).known
    named = replace(
        fact, subject=known.subject, predicate=known.predicate, single_valued=known.single_valued, kind=known.memory.kind
    )
    return replace(new, fact=named)


def _in_its_form(new: Statement, named: str, neighbours: Sequence[Neighbour], same_object: Callable[[str, str], bool]) -> str:
    """The object of the stored value that is meant; `named` itself where it is stored so, or no value is meant."""
    objects = {
        one.known.object_key: one.known.memory for one in neighbours
        if (one.known.subject, one.known.predicate) == (new.fact.subject, new.fact.predicate)
        and one.known.memory.scope == new.scope and one.known.memory.status == "active"
    }  # fmt: skip
    alike = [key for key in objects if same_object(named, key)]
    if named in objects or not alike:
        return named
    return max(alike, key=lambda key: objects[key].said_order)


def decide(
    new: Statement, neighbours: Sequence[Neighbour], variants: Sequence[Known], admission: Admission, policy: WritePolicy,
    thresholds: ThresholdSettings, figures: PredictionErrorSettings, negations: frozenset[str] = frozenset(),
) -> Decision:  # fmt: skip
    """`neighbours` are items of the statement's own scope; others are not looked at. `variants` hang on the target.

    What the policy does not admit waits or is skipped, with what would have been done beside it.
    """
    own = [one for one in neighbours if one.known.memory.scope == new.scope]
    open_decision = _judge(new, own, variants, thresholds, figures, negations)
    if admission.verdict != "admit":
        waits = admission.verdict == "wait"
        reason = "It waits for sleep" if waits else "The policy does not admit it"
        return Decision("SKIP", admission.rule, reason, open_decision.target, open_decision.action, waits)
    status = write_status(policy, new.fact.kind)
    if status == "active" or open_decision.action not in WRITING:
        return open_decision
    action = "CANDIDATE" if status == "candidate" else "SHADOW"
    rule = "approval_kind" if new.fact.kind in policy.require_approval_kinds else f"mode_{policy.mode}"
    reason = f"{open_decision.rule}: {open_decision.reason}"
    return Decision(action, rule, reason, open_decision.target, open_decision.action)


def _judge(
    new: Statement, neighbours: Sequence[Neighbour], variants: Sequence[Known], thresholds: ThresholdSettings,
    figures: PredictionErrorSettings, negations: frozenset[str],
) -> Decision:  # fmt: skip
    compared = [compare(new, one, negations, figures.same_wording) for one in neighbours if is_closest(one.known)]
    if new.role == "assistant":
        echo = _echo(new, compared, thresholds)
        if echo is not None:
            return echo
    if new.fact.act == "assert" and new.fact.valid_from_us >= new.fact.valid_until_us:
        return Decision("SKIP", "empty_validity", "By its own words it was over before it began")
    compared = [one for one in compared if _may_be_about(new, one.neighbour.known)]
    closest = max(compared, key=_rank, default=None)
    if new.fact.act in CLOSING:
        return _closing(new, compared, thresholds)
    if closest is None:
        return Decision("CREATE", "nothing_known", "Nothing is known of it")
    return _table(new, closest, variants, thresholds, figures)


def _may_be_about(new: Statement, known: Known) -> bool:
    """Likeness of words alone reaches nobody else's: only whose word it is may change what a member of a shared scope has."""
    return bool(new.fact.predicate and known.predicate) or not is_of_another(known.subject, known.memory, new.owner)


def _rank(one: Comparison) -> tuple[bool, bool, bool, float, bytes]:
    memory = one.neighbour.known.memory
    return one.same_key, memory.status == "active", one.same_value, one.neighbour.similarity, memory.memory_id


def _echo(new: Statement, compared: Sequence[Comparison], thresholds: ThresholdSettings) -> Decision | None:
    """A sentence of the assistant that repeats what it was given proves nothing: at most it is a use."""
    given = [
        one for one in compared
        if one.neighbour.known.injected and (one.same_key or one.neighbour.similarity >= thresholds.echo)
    ]  # fmt: skip
    if not given:
        return None
    best = max(given, key=_rank)
    target = best.neighbour.known.memory
    repeats = best.same_value or (not best.contradiction and best.neighbour.similarity > thresholds.reinforce)
    if repeats and target.status == "active" and new.fact.act not in CLOSING:
        return Decision("REINFORCE", "echo", "The assistant repeats a memory that it was given", target.memory_id)
    return Decision("SKIP", "echo", "The assistant rewords a memory that it was given", target.memory_id)


def _closing(new: Statement, compared: Sequence[Comparison], thresholds: ThresholdSettings) -> Decision:
    """An end or a retraction needs something that it is about: its key, or nearly its wording."""
    retracts = new.fact.act == "retract"
    about = [
        one for one in compared
        if (one.same_key and _means(new, one))
        or (not new.fact.predicate and one.neighbour.similarity >= thresholds.update)
    ]  # fmt: skip
    live = [one for one in about if retracts or one.neighbour.known.memory.status == "active"]
    if not live:
        return Decision("NOTHING", "nothing_to_close", "Nothing that is known is meant")
    target = max(live, key=_rank).neighbour.known.memory
    if target.immutable:
        return Decision("CANDIDATE", "immutable", "An immutable item is contradicted", target.memory_id, "CANDIDATE")
    if not new.by_user and new.confidence <= target.confidence:
        return Decision("CANDIDATE", "not_confirmed", "Not the user says so, and less surely", target.memory_id, "CANDIDATE")
    if retracts:
        return Decision("RETRACT", "retraction", "It was never true", target.memory_id)
    return Decision("END", "end", "It is no longer true", target.memory_id)


def _means(new: Statement, one: Comparison) -> bool:
    """Whether an end speaks of that value: of any, where it names none."""
    named = new.fact.corrected or new.fact.object_key
    known = one.neighbour.known.object_key
    return not named or named == known or names_part_of(named, known)


def _table(
    new: Statement, closest: Comparison, variants: Sequence[Known], thresholds: ThresholdSettings,
    figures: PredictionErrorSettings,
) -> Decision:  # fmt: skip
    """Prediction error on the closest item; the first row that applies decides."""
    known, similarity = closest.neighbour
    target = known.memory.memory_id
    if closest.contradiction and (closest.same_key or similarity >= thresholds.update):
        return _reconsolidate(new, closest, variants, figures)
    if closest.same_key:
        return _same_key(new, known)
    if new.fact.predicate and known.predicate:
        # Values that coexist, and what is said of something else, are never merged, however alike they sound.
        of = "another value" if closest.same_subject_predicate else "another subject or predicate"
        return Decision("CREATE", "something_else", f"The closest item speaks of {of}", target)
    if known.memory.status == "active" and not known.memory.immutable:
        if similarity > thresholds.reinforce:
            return Decision("REINFORCE", "nearly_identical", f"Similarity {similarity:.2f}", target)
        if similarity >= thresholds.update and not (new.fact.predicate or known.predicate):
            return Decision("UPDATE", "same_subject", f"Similarity {similarity:.2f}", target)
    if thresholds.create <= similarity < thresholds.update and new.importance < thresholds.create_importance:
        return Decision("SKIP", "doubtful_and_unimportant", f"Similarity {similarity:.2f}", target)
    return Decision("CREATE", "novel", f"Similarity {similarity:.2f} to the closest item", target)


def _same_key(new: Statement, known: Known) -> Decision:
    memory = known.memory
    if memory.status != "active":
        return Decision("CREATE", "stated_again", "What held before is stated anew", memory.memory_id)
    fact = new.fact
    ends = fact.valid_until_us < memory.valid_until_us
    adds = ends or fact.valid_from_us < memory.valid_from_us
    if adds and memory.immutable:
        return Decision("CANDIDATE", "immutable", "An immutable item would change", memory.memory_id, "CANDIDATE")
    if adds:
        return Decision("UPDATE", "same_key_adds", "The same value with more of its validity", memory.memory_id)
    return Decision("REINFORCE", "same_key_same_value", "It is already known", memory.memory_id)


def _reconsolidate(
    new: Statement, closest: Comparison, variants: Sequence[Known], figures: PredictionErrorSettings
) -> Decision:
    old = closest.neighbour.known.memory
    why = closest.contradiction
    if old.immutable:
        return Decision("CANDIDATE", "immutable", f"An immutable item is contradicted: {why}", old.memory_id, "CANDIDATE")
    if old.status != "active":
        return Decision("CREATE", "stated_again", f"What was held is over: {why}", old.memory_id)
    if outranks(new, old.confidence):
        if new.fact.valid_until_us <= new.said_at_us or new.fact.temporal_type == "time_bounded":
            return Decision("CREATE", "exception", f"It holds for a time beside what else holds: {why}", old.memory_id)
        return Decision("SUPERSEDE", "more_confident", why, old.memory_id)
    hanging = sorted(
        (one.memory for one in variants if one.memory.variant_of == old.memory_id and one.memory.status == "active"),
        key=lambda one: (one.confidence, one.memory_id),
    )
    if len(hanging) < figures.variants:
        return Decision("VARIANT", "less_confident", why, old.memory_id)
    if hanging and new.confidence > hanging[0].confidence:
        return Decision("REPLACE_VARIANT", "stronger_than_a_variant", why, hanging[0].memory_id)
    return Decision("DISCARD", "variants_full", f"{len(hanging)} stronger variants are kept: {why}", old.memory_id)


def outranks(new: Statement, confidence: float) -> bool:
    """Whether it is believed before what it contradicts.

    A person's own later word on what has one value at a time is a change or a
    correction, so it outranks like a correction does; what was only guessed at from
    an open wording, and what others say, has to be more confident.
    """
    stated = new.fact.act == "correct" or new.fact.explicit or (new.fact.single_valued and bool(new.fact.predicate))
    return (new.by_user and stated) or new.confidence > confidence
