"""Contexts and searches that are kept: until something is said in their scopes or may have been missed."""

from __future__ import annotations

import uuid
from typing import Any

from aico_memory.clock import FixedClock, from_us
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import context_pb2, semantic_pb2, working_pb2
from aico_memory.contracts.wire import StampedRecord
from aico_memory.ids import new_id
from aico_memory.settings.context import CacheSettings
from services.context.handlers import ContextHandlers, build
from tests.services.context.tiers import NOW, USER, Tiers, ask, context, ports, search
from tests.support.twin_link import TwinLink


def changed(topic: Any, user: str, sequence: int, message: Any, topic_sequence: int) -> StampedRecord:
    event_id = new_id(1_760_000_000_000_000 + sequence)
    record = make_record(message, event_id=event_id, occurred_us=1, user=user)
    return StampedRecord(
        topic_of(topic).name, event_id.bytes, user, record.envelope, "twin", sequence, topic_sequence, 1_760_000_000_000_000
    )  # fmt: skip


def test_an_answer_is_kept_until_something_is_said_in_its_scopes(
    handlers: ContextHandlers, tiers: Tiers, link: TwinLink
) -> None:
    tiers.say("My bicycle is red")
    first, asked = context(handlers, "bicycle"), len(link.asked)
    again = context(handlers, "bicycle")
    assert (first.cached, again.cached, len(link.asked)) == (False, True, asked)
    assert (again.text, again.tokens, [item.id for item in again.items]) == (
        first.text, first.tokens, [item.id for item in first.items]
    )  # fmt: skip
    _, hear = link.hearing[0]
    other = working_pb2.Message(user_id="bob", role="user", content="hello")
    hear(changed(working_pb2.Message, "bob", 3, other, 1))
    assert context(handlers, "bicycle").cached
    said = working_pb2.Message(user_id=USER, role="user", content="My bicycle is green")
    hear(changed(working_pb2.Message, USER, 4, said, 2))
    assert not context(handlers, "bicycle").cached
    # Long-term memory has not applied it: the answer may be an old one and is not kept.
    assert not context(handlers, "bicycle").cached
    tiers.settled = 4
    assert not context(handlers, "bicycle").cached
    assert context(handlers, "bicycle").cached


def test_what_may_have_been_missed_ends_every_answer(handlers: ContextHandlers, tiers: Tiers, link: TwinLink) -> None:
    tiers.say("My bicycle is red")
    tiers.settled = 100
    _, hear = link.hearing[0]
    said = working_pb2.Message(user_id="bob", role="user", content="hello")
    hear(changed(working_pb2.Message, "bob", 3, said, 1))
    context(handlers, "bicycle")
    assert context(handlers, "bicycle").cached
    # Records 2 and 3 of the topic never came.
    hear(changed(working_pb2.Message, "bob", 9, said, 4))
    assert not context(handlers, "bicycle").cached
    assert context(handlers, "bicycle").cached
    assert link.on_connect is not None
    link.on_connect()
    assert not context(handlers, "bicycle").cached


def test_an_answer_with_a_missing_tier_is_not_kept(handlers: ContextHandlers, tiers: Tiers) -> None:
    tiers.say("My bicycle is red")
    tiers.model_away = True
    context(handlers, "bicycle")
    assert not context(handlers, "bicycle").cached


def test_a_kept_answer_reports_its_use_all_the_same(handlers: ContextHandlers, tiers: Tiers, link: TwinLink) -> None:
    tiers.say("My bicycle is red")
    context(handlers, "bicycle")
    assert context(handlers, "bicycle").cached
    assert link.wait_for(lambda: len(link.published) == 2)


def test_a_kept_answer_ends_where_something_that_was_found_begins(tiers: Tiers, link: TwinLink) -> None:
    clock = FixedClock(NOW)
    given = ports(link, deadline_ms=300)
    given.clock = clock
    built = build(given)
    begins = clock.now_us() + 60_000_000
    ahead = semantic_pb2.MemoryRecord(
        memory_id=str(uuid.UUID(int=1)), text="User lives in Rome", kind="profile", tier="semantic", status="active",
        confidence=0.9, valid_from_us=begins, sources=[semantic_pb2.EvidenceSource(event_id=bytes(16), said_at_us=5)],
    )  # fmt: skip
    tiers.items = [ahead]
    assert not context(built, "Where do I live?").items
    assert [item.id for item in context(built, "Where will I live?").items] == [ahead.memory_id]
    clock.set(from_us(begins - 1))
    assert context(built, "Where do I live?").cached
    clock.set(from_us(begins))
    answer = context(built, "Where do I live?")
    assert not answer.cached and [item.id for item in answer.items] == [ahead.memory_id]
    assert context(built, "Where do I live?").cached
    built.close()


def test_kept_answers_end_where_long_term_memory_says_that_something_turns(tiers: Tiers, link: TwinLink) -> None:
    clock = FixedClock(NOW)
    given = ports(link, deadline_ms=300)
    given.clock = clock
    built = build(given)
    tiers.say("My bicycle is red")
    tiers.turns_us = turns = clock.now_us() + 60_000_000
    disclosing = context_pb2.DiscloseRequest(user_id=USER, depth="search", query="bicycle")
    asking = (lambda: context(built, "bicycle"), lambda: search(built, "bicycle"), lambda: ask(built, disclosing))
    assert [one().cached for one in asking] == [False] * 3
    clock.set(from_us(turns - 1))
    assert [one().cached for one in asking] == [True] * 3
    clock.set(from_us(turns))
    assert [one().cached for one in asking] == [False] * 3
    built.close()


def test_a_search_is_kept_until_something_is_said_in_its_scopes(
    handlers: ContextHandlers, tiers: Tiers, link: TwinLink
) -> None:
    tiers.say("My bicycle is red")
    first, asked = search(handlers, "bicycle"), len(link.asked)
    again = search(handlers, "bicycle")
    assert (first.cached, again.cached, len(link.asked)) == (False, True, asked)
    assert again.hits == first.hits and [timing.stage for timing in again.timings] == ["total"]
    assert not search(handlers, "bicycle", top_k=1).cached, "another question"
    assert not context(handlers, "bicycle").cached, "another verb"
    _, hear = link.hearing[0]
    said = working_pb2.Message(user_id=USER, role="user", content="My bicycle is green")
    hear(changed(working_pb2.Message, USER, 4, said, 2))
    # Long-term memory has not applied it: what it answers may be old and is not kept.
    assert not search(handlers, "bicycle").cached
    assert not search(handlers, "bicycle").cached
    tiers.settled = 4
    assert not search(handlers, "bicycle").cached
    assert search(handlers, "bicycle").cached
    tiers.model_away = True
    assert search(handlers, "red").degraded != [] and not search(handlers, "red").cached, "an answer without the model"


def test_a_kept_search_ends_where_something_that_it_found_ends(tiers: Tiers, link: TwinLink) -> None:
    clock = FixedClock(NOW)
    given = ports(link, deadline_ms=300)
    given.clock = clock
    built = build(given)
    tiers.say("I stay in Rome")
    tiers.valid_until_us = ends = clock.now_us() + 60_000_000
    assert not search(built, "Rome").cached
    clock.set(from_us(ends - 1))
    assert search(built, "Rome").cached
    clock.set(from_us(ends))
    assert not search(built, "Rome").cached
    built.close()


def test_searches_are_not_kept_where_it_is_switched_off(tiers: Tiers, link: TwinLink) -> None:
    given = ports(link, deadline_ms=300)
    off = given.settings.context.model_copy(update={"cache": CacheSettings(searches=False)})
    given.settings = given.settings.model_copy(update={"context": off})
    built = build(given)
    tiers.say("My bicycle is red")
    assert not search(built, "bicycle").cached and not search(built, "bicycle").cached
    assert not context(built, "bicycle").cached and context(built, "bicycle").cached
    built.close()


def test_a_turn_whose_record_was_deleted_stands_in_no_context(handlers: ContextHandlers, tiers: Tiers) -> None:
    tiers.say("I went to the market", turn=True, recorded=False)
    gone = tiers.say("My favourite tea is Earl Grey", turn=True, recorded=False)
    tiers.deleted.append(gone)
    for question in ("What is my favourite tea?", "hello", "Which tea do I like?"):
        # What is at hand is asked for once: the ids stay with it.
        answer = context(handlers, question, session_id="s")
        assert "Earl Grey" not in answer.text and "market" in answer.text
    dated = context(handlers, "What is my favourite tea?", session_id="s", as_of_us=1_770_000_000_000_000)
    assert "Earl Grey" not in dated.text
    assert [message.hot for message in tiers.asked].count(True) == 2


def test_a_turn_whose_record_was_edited_says_what_it_says_now(handlers: ContextHandlers, tiers: Tiers) -> None:
    said = tiers.say("My favourite tea is Earl Grey", turn=True, recorded=False)
    tiers.edited[said] = "My favourite tea is Oolong"
    for question in ("What is my favourite tea?", "hello", "Which tea do I like?"):
        answer = context(handlers, question, session_id="s")
        assert "Oolong" in answer.text and "Earl Grey" not in answer.text
