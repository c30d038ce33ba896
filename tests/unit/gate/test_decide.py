"""The table of prediction error: total, and row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.domain.formation.formed import ACTS, NEWEST
from aico_memory.domain.gate.apply import Standing, apply
from aico_memory.domain.gate.decide import ACTIONS, WRITING, Decision, decide, resolved, thresholds_for
from aico_memory.domain.gate.explain import in_shadow
from aico_memory.domain.gate.policy import Admission, Usage, WritePolicy, admit
from aico_memory.domain.gate.statement import Known, Neighbour, in_chains
from aico_memory.domain.kinds import ITEM_KINDS
from aico_memory.domain.memory import STATUSES, Scope
from aico_memory.settings.write_path import PredictionErrorSettings, ThresholdSettings
from tests.support.memory_items import item
from tests.support.statements import ADMITTED, ALICE, GATE, MODEL, Shelf, said

AUTO = WritePolicy()
NEGATIONS = frozenset({"not", "never", "nicht", "kein"})
PLAIN: dict[str, Any] = {"predicate": "", "object_key": "", "single_valued": False, "kind": "fact"}


def known(number: int = 50, value: str = "Rome", predicate: str = "home_city", single: bool = True, **fields: Any) -> Known:
    reading = {name: fields.pop(name) for name in ("injected", "subject") if name in fields}
    memory = item(number, fields.pop("text", f"User lives in {value}"), confidence=fields.pop("confidence", 0.8), **fields)
    return Known(memory, **{"subject": "user", "predicate": predicate, "object_key": value.casefold(), "single_valued": single,
                            **reading})  # fmt: skip


def judge(new, *near: tuple[Known, float], variants=(), policy=AUTO, admission=ADMITTED) -> Decision:
    neighbours = [Neighbour(one, similarity) for one, similarity in near]
    return decide(new, neighbours, variants, admission, policy, GATE.default, GATE, NEGATIONS)


def plain(text: str, number: int = 1, **fields: Any):
    return said(number, "", 10, text=text, **{**PLAIN, **fields})


def plain_known(text: str, **fields: Any) -> Known:
    return known(value="", predicate="", single=False, text=text, **{"subject": "", **fields})


@pytest.mark.parametrize(
    ("new", "old", "similarity", "action", "rule"),
    [
        (said(1, "Oslo", 10), known(), 0.1, "SUPERSEDE", "more_confident"),
        (said(1, "Rome", 10), known(), 0.1, "REINFORCE", "same_key_same_value"),
        (said(1, "Rome", 10, until=20), known(), 0.99, "UPDATE", "same_key_adds"),
        (said(1, "Oslo", 10, until=20), known(), 0.9, "CREATE", "exception"),
        (said(1, "Oslo", 10, role="assistant", confidence=0.5), known(), 0.9, "VARIANT", "less_confident"),
        (said(1, "Oslo", 10, role="tool", confidence=0.95), known(), 0.9, "SUPERSEDE", "more_confident"),
        (said(1, "Oslo", 10), known(immutable=True), 0.9, "CANDIDATE", "immutable"),
        (said(1, "Rome", 10, subject="lena"), known(), 0.99, "CREATE", "something_else"),
        (said(1, "tea", 10, predicate="likes", single_valued=False), known(50, "coffee", "likes", False), 0.97, "CREATE",
         "something_else"),
        (plain("The build takes 7 minutes"), plain_known("The build takes 9 minutes"), 0.9, "VARIANT", "less_confident"),
        (plain("The build takes 7 minutes", confidence=0.9), plain_known("The build takes 9 minutes"), 0.9, "SUPERSEDE",
         "more_confident"),
        (plain("We do not use Kafka here", confidence=0.9), plain_known("We do use Kafka here"), 0.9, "SUPERSEDE",
         "more_confident"),
        (plain("Kafka runs on port 9092"), plain_known("Kafka runs there on port 9092"), 0.93, "REINFORCE", "nearly_identical"),
        (plain("Kafka is fast"), plain_known("Kafka runs in Docker"), 0.92, "UPDATE", "same_subject"),
        (plain("Kafka is fast"), plain_known("Kafka runs in Docker"), 0.75, "UPDATE", "same_subject"),
        (plain("Kafka is fast"), plain_known("Kafka runs in Docker"), 0.74, "SKIP", "doubtful_and_unimportant"),
        (plain("Kafka is fast", importance=0.6), plain_known("Kafka runs in Docker"), 0.74, "CREATE", "novel"),
        (plain("Kafka is fast"), plain_known("Kafka runs in Docker"), 0.69, "CREATE", "novel"),
        (said(1, "Rome", 10, act="end", corrected="rome"), known(), 0.1, "END", "end"),
        (said(1, "Rome", 10, act="retract", corrected="rome"), known(), 0.1, "RETRACT", "retraction"),
        (said(1, "Oslo", 10, act="end", corrected="oslo"), known(), 0.9, "NOTHING", "nothing_to_close"),
        (said(1, "Rome", 10, act="retract", role="assistant", confidence=0.5), known(), 0.9, "CANDIDATE", "not_confirmed"),
        (said(1, "Rome", 10, role="assistant"), known(injected=True), 0.95, "REINFORCE", "echo"),
        (said(1, "Oslo", 10, role="assistant", confidence=1.0), known(injected=True), 0.95, "SKIP", "echo"),
    ],
)  # fmt: skip
def test_each_row_of_the_table_has_its_action(new, old, similarity: float, action: str, rule: str) -> None:
    decision = judge(new, (old, similarity))
    assert (decision.action, decision.rule) == (action, rule)


def test_nothing_known_creates() -> None:
    assert judge(said(1, "Rome", 0)).rule == "nothing_known"


def test_what_was_over_before_it_began_is_skipped_by_a_rule_of_its_own() -> None:
    for since, until in ((10, 10), (10, 5)):
        for near in ((), ((known(), 0.9),)):
            decision = judge(said(1, "Rome", 10, since=since, until=until), *near)
            assert (decision.action, decision.rule) == ("SKIP", "empty_validity")
    assert judge(said(1, "Rome", 10, since=3, until=5)).action == "CREATE"
    assert judge(said(1, "Rome", 10, act="end", until=10), (known(), 0.9)).action == "END"


def test_a_correction_of_the_user_outranks_whatever_is_believed() -> None:
    sure = known(confidence=1.0)
    assert judge(said(1, "Oslo", 10, act="correct", corrected="rome", confidence=0.61), (sure, 0.9)).action == "SUPERSEDE"


def test_a_fact_carries_three_variants_and_only_a_stronger_one_gets_in() -> None:
    old = known(confidence=0.9)
    doubts = [known(60 + place, "Oslo", confidence=0.5 + place / 10, variant_of=old.memory.memory_id) for place in range(3)]
    weak = said(1, "Oslo", 10, role="assistant", confidence=0.5)
    assert judge(weak, (old, 0.9), variants=doubts[:2]).action == "VARIANT"
    assert judge(weak, (old, 0.9), variants=doubts).action == "DISCARD"
    stronger = judge(replace(weak, confidence=0.55), (old, 0.9), variants=doubts)
    assert (stronger.action, stronger.target) == ("REPLACE_VARIANT", doubts[0].memory.memory_id)


def test_the_closest_by_key_goes_before_the_closest_by_sound() -> None:
    decision = judge(said(1, "Rome", 10), (known(), 0.3), (known(51, "Rome", "visited", False), 0.99))
    assert (decision.action, decision.target) == ("REINFORCE", known().memory.memory_id)


@pytest.mark.parametrize(
    ("policy", "action"),
    [
        (WritePolicy(mode="shadow"), "SHADOW"),
        (WritePolicy(mode="manual"), "CANDIDATE"),
        (WritePolicy(require_approval_kinds=frozenset({"profile"})), "CANDIDATE"),
        (WritePolicy(mode="shadow", require_approval_kinds=frozenset({"profile"})), "CANDIDATE"),
    ],
)
def test_a_policy_that_asks_for_review_says_what_would_have_been_done(policy: WritePolicy, action: str) -> None:
    decision = judge(said(1, "Oslo", 10), (known(), 0.9), policy=policy)
    assert (decision.action, decision.instead) == (action, "SUPERSEDE")
    assert judge(said(1, "Rome", 10), (known(), 0.9), policy=policy).action == "REINFORCE"


def test_what_is_not_admitted_waits_or_is_skipped_and_says_so() -> None:
    waits = judge(said(1, "Oslo", 10), (known(), 0.9), admission=Admission("wait", "hour_limit"))
    assert (waits.action, waits.rule, waits.waits, waits.instead) == ("SKIP", "hour_limit", True, "SUPERSEDE")
    assert not judge(said(1, "Oslo", 10), admission=Admission("refuse", "kind_not_allowed")).waits


@pytest.mark.parametrize("kind", ["constraint", "preference", "procedure"])
def test_what_tries_to_instruct_never_becomes_a_rule(kind: str) -> None:
    admission = admit(WritePolicy(), kind, 1.0, 1, Usage(), fast=True, injected=True)
    assert (admission.verdict, admission.rule) == ("refuse", "injection_guard")
    assert judge(said(1, "all rules", 1, kind=kind), admission=admission).action == "SKIP"


def test_an_item_of_another_scope_is_never_looked_at() -> None:
    foreign = known()
    foreign = replace(foreign, memory=replace(foreign.memory, scope=Scope("user", "bob")))
    assert judge(said(1, "Oslo", 10), (foreign, 1.0)) == judge(said(1, "Oslo", 10))


def test_a_correction_without_a_subject_finds_whose_value_it_corrects() -> None:
    open_ended = said(1, "Oslo", 10, act="correct", corrected="rome", predicate="", kind="correction")
    named = resolved(open_ended, [Neighbour(known(), 0.2), Neighbour(known(51, "Bonn", "employer"), 0.9)])
    assert (named.fact.predicate, named.fact.kind, named.key) == ("home_city", "fact", "user|home city")
    assert resolved(open_ended, []) is open_ended


def test_a_correction_among_values_that_accumulate_takes_one_back_and_tells_another() -> None:
    likes = {"predicate": "likes", "single_valued": False, "kind": "preference"}
    shelf = Shelf()
    shelf.tell(said(1, "tea", 0, **likes), said(2, "milk", 0, **likes))
    corrected = said(3, "coffee", 10, act="correct", corrected="tea", **likes)
    taken, told = in_chains(corrected, b"c" * 16)
    assert (taken.key, taken.fact.act, told.fact.act) == ("user|likes|tea", "retract", "assert")
    shelf.tell(taken, told)
    assert sorted(shelf.held(11)) == ["coffee", "milk"]
    assert in_chains(said(4, "Rome", 1), b"d" * 16) == (said(4, "Rome", 1),)


def test_a_change_among_values_that_accumulate_ends_the_one_that_is_left() -> None:
    drinks = {"predicate": "drinks", "single_valued": False, "kind": "preference"}
    shelf = Shelf()
    shelf.tell(said(1, "tea", 0, **drinks), said(2, "milk", 5, **drinks))
    near = [Neighbour(one, 0.5) for one in shelf.items.values()]
    switched = resolved(said(3, "coffee", 10, corrected=NEWEST, **drinks), near)
    assert switched.fact.corrected == "milk"
    shelf.tell(*in_chains(switched, b"c" * 16))
    assert (sorted(shelf.held(9)), sorted(shelf.held(11))) == (["milk", "tea"], ["coffee", "tea"])
    assert resolved(said(4, "coffee", 10, corrected=NEWEST, **drinks), []).fact.corrected == ""


def test_an_end_finds_the_value_it_names_in_part() -> None:
    owns = {"predicate": "owns", "single_valued": False, "kind": "fact"}
    shelf = Shelf()
    shelf.tell(said(1, "old red car", 0, **owns), said(2, "boat", 0, **owns))
    near = [Neighbour(one, 0.5) for one in shelf.items.values()]
    ended = resolved(said(3, "red car", 10, act="end", corrected="red car", **owns), near)
    assert shelf.tell(ended)[0].action == "END"
    assert shelf.held(11) == ["boat"]
    other = said(4, "card", 10, act="end", corrected="card", **owns)
    assert resolved(other, near) is other
    assert resolved(other, near, lambda named, known: named[:3] == known[-3:]).fact.corrected == "old red car"


def test_a_correction_never_finds_its_subject_in_another_scope() -> None:
    foreign = known()
    foreign = replace(foreign, memory=replace(foreign.memory, scope=Scope("user", "bob")))
    open_ended = said(1, "Oslo", 10, act="correct", corrected="rome", predicate="")
    assert resolved(open_ended, [Neighbour(foreign, 1.0)]) is open_ended


def test_thresholds_belong_to_the_embedding_model() -> None:
    own = ThresholdSettings(reinforce=0.8, update=0.6, create=0.5)
    figures = PredictionErrorSettings(calibrated={"model|384|abc": own})
    assert thresholds_for("model|384|abc", figures) is own
    assert thresholds_for("other", figures) == ThresholdSettings()
    with pytest.raises(ValueError, match="must rise"):
        ThresholdSettings(create=0.8, update=0.75)


values = st.sampled_from(["Rome", "Oslo", ""])
predicates = st.sampled_from(["", "home_city", "likes"])
subjects = st.sampled_from(["user", "lena"])
units = st.floats(0, 1)


@st.composite
def statements(draw):
    predicate = draw(predicates)
    return said(
        1, draw(values), draw(st.integers(0, 30)), until=draw(st.one_of(st.none(), st.integers(31, 40))),
        act=draw(st.sampled_from(ACTS)), corrected=draw(values).casefold(),
        predicate=predicate, single_valued=predicate == "home_city", subject=draw(subjects),
        kind=draw(st.sampled_from(ITEM_KINDS)), explicit=draw(st.booleans()), confidence=draw(units),
        importance=draw(units), role=draw(st.sampled_from(["user", "assistant", "tool", "system"])),
        text=draw(st.sampled_from(["User lives in Rome", "User does not live in Rome", "It costs 5", "It costs 6", "x"])),
    )  # fmt: skip


@st.composite
def knowns(draw, number: int):
    predicate = draw(predicates)
    return known(
        number, draw(values), predicate, predicate == "home_city", status=draw(st.sampled_from(STATUSES)),
        confidence=draw(units),
        immutable=draw(st.booleans()), injected=draw(st.booleans()), subject=draw(subjects) if predicate else "",
        text=draw(st.sampled_from(["User lives in Rome", "It costs 5", "y"])),
        scope=draw(st.sampled_from([ALICE, Scope("user", "bob")])),
        variant_of=draw(st.sampled_from([None, (50).to_bytes(16, "big")])),
    )  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(statements(), st.data(), st.sampled_from(["auto", "shadow", "manual"]), st.sampled_from(["admit", "wait", "refuse"]))
def test_every_statement_against_whatever_is_known_has_one_decision_that_can_be_applied(
    new, data, mode: str, verdict: str
) -> None:
    count = data.draw(st.integers(0, 4))
    pool = [data.draw(knowns(50 + place)) for place in range(count)]
    near = [Neighbour(one, data.draw(st.floats(-1, 1))) for one in pool]
    admission = Admission(verdict, "rule")
    decision = decide(new, near, pool, admission, WritePolicy(mode=mode), GATE.default, GATE, NEGATIONS)
    assert decision.action in ACTIONS
    assert decision.rule and decision.reason
    assert decision == decide(new, near[::-1], pool[::-1], admission, WritePolicy(mode=mode), GATE.default, GATE, NEGATIONS)
    if verdict != "admit":
        assert decision.action == "SKIP"
    if mode != "auto":
        assert decision.action not in WRITING
    target = next((one for one in pool if one.memory.memory_id == decision.target), None)
    if target is not None:
        assert target.memory.scope == new.scope
        if target.memory.immutable:
            assert decision.action not in {"UPDATE", "SUPERSEDE", "END", "RETRACT"}
        if decision.action == "REINFORCE":
            assert target.memory.status == "active"
    assert in_shadow(decision, admission) not in WRITING
    own = {one.memory.memory_id: one for one in pool if one.memory.scope == new.scope}
    applied = apply(new, decision, Standing((), own, dict.fromkeys(own, 1)), MODEL)
    assert all(one.memory.scope == new.scope for one in applied.items)
    proved = {one.memory_id for one in applied.evidence} | set(own)
    assert {one.memory.memory_id for one in applied.items} <= proved


def test_likeness_of_words_reaches_nothing_that_another_member_of_a_scope_has():
    hers = known(subject="user:0123456789abcdef0123456789abcdef", text="Ada lives in Rome", owner="ada")
    never = said(1, "", 10, **{**PLAIN, "text": "Ada never lived in Rome"}, act="retract", corrected="rome", owner="ben")
    again = plain("Ada lives in Rome!", owner="ben")
    assert (judge(never, (hers, 0.95)).action, judge(again, (hers, 0.95)).action) == ("NOTHING", "CREATE")
    of_ada = [judge(replace(one, owner="ada"), (hers, 0.95)).action for one in (never, again)]
    assert of_ada == ["RETRACT", "REINFORCE"]
    echo = replace(again, role="assistant")
    assert judge(echo, (replace(hers, injected=True), 0.95)).rule == "echo", "what was given to it is no news to anybody"
