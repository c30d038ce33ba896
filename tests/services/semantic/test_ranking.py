"""The fused ranking of the semantic worker, on its real store."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from aico_memory.contracts.v1 import context_pb2, envelope_pb2, guardrails_pb2, model_pb2, semantic_pb2, write_path_pb2
from aico_memory.errors import InvalidMessage
from tests.services.semantic.worker import Worker


@pytest.fixture
def worker(tmp_path):
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def ranked(worker: Worker, text: str, limit: int = 10, embed_ms: int = 5000, **fields):
    query = semantic_pb2.SemanticQuery(text=text, limit=limit, retrievers=["fused"], embed_ms=embed_ms, shares=True, **fields)
    return worker.ask(query)


def speaks_english(worker: Worker) -> None:
    """The model says that it speaks nothing else."""

    def embed(message, user):
        answer = worker.embed(message, user)
        answer.languages.append("en")
        return answer

    worker.link.answers[model_pb2.EmbedRequest] = embed


def texts(answer) -> list[str]:
    by_id = {record.memory_id: record.text for record in answer.records}
    return [by_id[memory_id] for memory_id in answer.lists[0].memory_ids]


def test_what_was_said_is_found_before_and_after_it_is_embedded(worker):
    worker.model_away = True
    worker.say("My bicycle is red")
    worker.say("The garden is large")
    answer = ranked(worker, "which colour has the bicycle")
    assert texts(answer)[0] == "My bicycle is red"
    assert (list(answer.degraded), answer.model) == (["model"], "")
    worker.model_away = False
    worker.settle()
    answer = ranked(worker, "which colour has the bicycle")
    assert texts(answer)[0] == "My bicycle is red"
    assert not answer.degraded
    assert {timing.stage for timing in answer.timings} == {"read", "words", "embed", "rank"}


def test_shares_add_up_to_the_log_odds_above_the_profile_s_offset(worker):
    worker.say("My bicycle is red")
    worker.settle()
    listed = ranked(worker, "bicycle").lists[0]
    assert len(listed.scores) == len(listed.shares) > 0
    assert 0 < listed.scores[0] < 1
    assert {share.feature for share in listed.shares[0].shares} >= {"similarity", "window_2"}


def test_a_record_that_rests_is_found_with_a_penalty_that_has_a_name(worker):
    said = uuid.UUID(worker.say("My bicycle is red")).bytes
    worker.say("A bicycle is a fine thing")
    worker.settle()
    asked = "What colour is my bicycle?"
    before = ranked(worker, asked).lists[0]
    with worker.handlers.state.transaction() as transaction:
        memory = transaction.memory(said)
        transaction.put_outline(replace(memory, tier="dormant"), worker.sequence)
    worker.handlers.after_commit()
    worker.settle()
    found = ranked(worker, asked)
    after = dict(zip(found.lists[0].memory_ids, zip(found.lists[0].scores, found.lists[0].shares, strict=True), strict=True))
    score, shares = after[str(uuid.UUID(bytes=said))]
    assert "My bicycle is red" in texts(found)
    assert [share.feature for share in shares.shares if share.feature == "dormant" and share.value < 0] == ["dormant"]
    assert score == pytest.approx(0.8 * before.scores[list(before.memory_ids).index(str(uuid.UUID(bytes=said)))], rel=0.01)


def test_an_item_and_the_record_it_rests_on_take_one_place(worker):
    worker.say("I live in Lisbon")
    worker.settle()
    answer = ranked(worker, "living in Lisbon")
    assert answer.lists[0].answers == 0
    sources = [tuple(source.event_id for source in record.sources) for record in answer.records]
    assert len(sources) == len(set(sources)) > 0


def test_filters_and_times_hold(worker):
    worker.say("tea in the morning", session_id="a")
    later = worker.say("tea in the evening", session_id="b")
    worker.settle()
    only = semantic_pb2.SearchFilters(session_id="a", kinds=["record"])
    assert texts(ranked(worker, "tea", filters=only)) == ["tea in the morning"]
    record = next(one for one in ranked(worker, "tea").records if one.memory_id == later)
    before = ranked(
        worker, "tea", known_as_of_us=record.recorded_at_us - 1, filters=semantic_pb2.SearchFilters(kinds=["record"])
    )
    assert texts(before) == ["tea in the morning"]


def test_an_answer_tells_when_something_of_the_scopes_ends_that_it_does_not_hold(worker):
    worker.say("My bicycle is red")
    worker.settle()
    assert ranked(worker, "bicycle").turns_us == 0
    worker.say("I am on vacation until Friday.")
    worker.settle()
    answer = ranked(worker, "bicycle", limit=1)
    assert texts(answer) == ["My bicycle is red"]
    # The end of Friday, 2026-02-27; what ends then is not in this answer.
    assert answer.turns_us == int(datetime(2026, 2, 28, tzinfo=UTC).timestamp()) * 1_000_000


def test_what_was_said_yesterday_comes_first_where_yesterday_is_asked_for(worker):
    day = 86_400_000_000
    for days, text in ((9, "We went to the lake"), (1, "We went to the castle"), (5, "We went to the cinema")):
        worker.say(text, session_id=f"s{days}", said_at_us=worker.clock.now_us() - days * day)
    worker.settle()
    assert texts(ranked(worker, "Where did we go yesterday?"))[0] == "We went to the castle"
    assert texts(ranked(worker, "Wohin gingen wir gestern?"))[0] == "We went to the castle"
    features = {share.feature for share in ranked(worker, "Where did we go yesterday?").lists[0].shares[0].shares}
    assert {"date", "day"} <= features


def test_the_limit_is_reached_and_not_exceeded(worker):
    for number in range(12):
        worker.say(f"note {number} on the garden gate, {uuid.uuid4().hex}", session_id=f"s{number}")
    worker.settle()
    assert [len(ranked(worker, "garden gate", limit=limit).lists[0].scores) for limit in (1, 5, 12)] == [1, 5, 12]


def test_another_user_s_words_are_not_there(worker):
    worker.say("the code is swordfish", user="ben")
    worker.settle()
    assert texts(ranked(worker, "swordfish")) == []


def test_scopes_in_which_nothing_was_said_take_nothing_away(worker):
    worker.say("My bicycle is red")
    worker.settle()
    named = {"USER": "ada", "GROUP": "g", "GLOBAL": "global"}
    scopes = [
        envelope_pb2.Scope(kind=envelope_pb2.ScopeKind.Value(f"SCOPE_KIND_{kind}"), id=name) for kind, name in named.items()
    ]
    assert texts(ranked(worker, "bicycle", scopes=scopes)) == texts(ranked(worker, "bicycle")) != []


def test_a_named_profile_ranks_and_an_unknown_one_is_refused(worker):
    worker.say("My bicycle is red")
    worker.settle()
    listed = ranked(worker, "bicycle", profile="bm25").lists[0]
    assert {share.feature for share in listed.shares[0].shares} == {"words"}
    with pytest.raises(InvalidMessage, match="no-such"):
        ranked(worker, "bicycle", profile="no-such")


def test_where_the_model_does_not_speak_the_language_words_decide_and_it_is_not_asked(worker):
    speaks_english(worker)
    worker.say("Mein Fahrrad ist rot und steht in der Garage")
    worker.settle()
    ranked(worker, "where is the bicycle that I have")
    asked = len([message for message, _ in worker.link.asked if isinstance(message, model_pb2.EmbedRequest)])
    answer = ranked(worker, "Wo steht mein Fahrrad und was ist in der Garage?")
    # The rules know where it stands; what is weighed beside that are words.
    weighed = [{share.feature for share in hit.shares} - {"answers"} for hit in answer.lists[0].shares]
    assert weighed and all(features == {"words", "characters"} for features in weighed)
    assert (list(answer.degraded), answer.model) == ([], "")
    assert len([message for message, _ in worker.link.asked if isinstance(message, model_pb2.EmbedRequest)]) == asked


def test_the_first_question_of_all_is_weighed_by_words_too_where_the_model_does_not_speak_its_language(worker):
    speaks_english(worker)
    worker.say("Mein Fahrrad ist rot und steht in der Garage")
    worker.settle()
    listed = ranked(worker, "Wo steht mein Fahrrad und was ist in der Garage?").lists[0]
    assert {share.feature for hit in listed.shares for share in hit.shares} - {"answers"} == {"words", "characters"}


def test_a_person_s_word_on_a_hit_labels_the_answer_that_showed_it_over_a_restart_too(worker):
    worker.say("My bicycle is red")
    worker.say("The garden is large")
    worker.settle()
    listed = ranked(worker, "which colour has the bicycle").lists[0]
    judged = write_path_pb2.MemoriesJudged(user_id="ada", memory_ids=[listed.memory_ids[0]], helpful=True)
    worker.tell(judged)
    worker.tell(write_path_pb2.MemoriesJudged(user_id="ada", memory_ids=[listed.memory_ids[-1]], helpful=False))
    worker.restart()
    with worker.handlers.state.reading_labels() as labels:
        (label,) = labels.rankings(10)
    # An answer leaves out what rests on the same message; the rows that were ranked are all there.
    (refused,) = label.refused
    assert label.helped == (0,) and len(listed.memory_ids) - 1 <= refused < len(label.rows) == len(label.kinds)
    page = worker.answered(guardrails_pb2.SelfAdjust(), user="")
    assert page.told["ranking_profile"] == "too few labels: 1 of 40"


def test_where_words_alone_decide_what_shares_none_is_no_match(worker):
    worker.say("My bicycle is red")
    worker.say("The garden is large")
    worker.settle()
    worker.model_away = True
    assert set(ranked(worker, "Wozu Quantenphysik?").lists[0].scores) == {0.0}
    listed = ranked(worker, "bicycle").lists[0]
    assert listed.scores[0] > 0.3 and set(listed.scores[1:]) == {0.0}


@pytest.mark.parametrize("fields", [{}, {"as_of_us": 1_772_000_060_000_000}, {"kinds": ["preference"]}])
def test_who_asks_nothing_gets_what_is_at_hand(worker, fields):
    worker.say("I'm allergic to walnuts.")
    worker.settle()
    (walnuts,) = ranked(worker, "walnuts", filters=semantic_pb2.SearchFilters(kinds=["constraint"])).records
    with worker.handlers.state.transaction() as transaction:
        memory = transaction.memory(uuid.UUID(walnuts.memory_id).bytes)
        transaction.replace(replace(memory, pinned=True), None, worker.sequence)
    worker.handlers.after_commit()
    scopes = [envelope_pb2.Scope(kind=envelope_pb2.SCOPE_KIND_USER, id="ada")]
    answer = worker.ask(
        context_pb2.CandidatesRequest(
            user_id="ada", scopes=scopes, hot=True, hot_uses=99, hot_items=5, hot_since_us=1, **fields
        )
    )
    assert list(answer.hot) == [walnuts.memory_id]
    assert not answer.degraded


def test_a_question_of_several_parts_is_embedded_by_them_and_finds_what_is_like_each(worker):
    said = [worker.say(text) for text in ("My bicycle is red", "The garden is large", "We had soup")]
    worker.settle()
    whole, *parts = "Which colour has the bicycle, and how large is the garden?", "Which colour has the bicycle?", "garden size"
    before = len(worker.link.asked)
    scopes = [envelope_pb2.Scope(kind=envelope_pb2.SCOPE_KIND_USER, id="ada")]
    answer = worker.ask(
        context_pb2.CandidatesRequest(
            user_id="ada", scopes=scopes, questions=[whole, *parts], limit=10, embed_ms=5000, shares=True
        )
    )
    (embedded,) = [list(one.texts) for one, _ in worker.link.asked[before:] if isinstance(one, model_pb2.EmbedRequest)]
    assert embedded == parts
    assert len(answer.lists) == 3 and not answer.degraded
    whole_list = answer.lists[0]
    like = {
        key: share.value
        for key, told in zip(whole_list.memory_ids, whole_list.shares, strict=True)
        for share in told.shares
        if share.feature == "similarity"
    }
    assert min(like[said[0]], like[said[1]]) > like.get(said[2], 0.0)
