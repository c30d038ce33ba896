"""How outcomes are kept: compacted, bounded, deleted, told apart by user, exported, sealed."""

import json

import pytest

from aico_memory.contracts.v1 import outcomes_pb2
from aico_memory.domain.advisor.profile import folded
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.settings import Settings
from aico_memory.settings.security import SecuritySettings
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from aico_memory.vault.master import open_vault
from services.behavioral.advisor.sealing import opened, profile_of
from tests.unit.behavioral.advisor import DAY_US, Advisor
from tests.unit.behavioral.worker import START_US


def test_compaction_keeps_the_recent_whole_the_old_as_a_line_and_every_pattern(advisor):
    for number in range(12):
        outcome = "accepted" if number % 3 else "rejected"
        advisor.record(
            f"s{number}", outcome, "add_task" if number % 2 else "remove_task", f"v{number}", days_ago=70 - 6 * number,
            reason="because it would help with the morning " * 5, evidence=["a line"], tags=["home"],
        )  # fmt: skip
    before = advisor.profile()
    report = advisor.publish(outcomes_pb2.CompactNow(), user="ann")
    after = advisor.profile()
    assert (report.compacted, report.kept_whole, report.patterns_unchanged) == (7, 5, True)
    assert report.tokens_after < report.tokens_before
    assert report.saved == pytest.approx(1 - report.tokens_after / report.tokens_before)
    assert after.compacted_through_us == START_US - 34 * DAY_US
    after.compacted_through_us = before.compacted_through_us
    assert after == before
    old = advisor.outcomes(3, ids=["o1"]).outcomes[0]
    assert old.text == "o1 remove_task v0 rejected 2025-10-23"
    assert (old.compacted, old.reason, list(old.evidence), list(old.tags)) == (True, "", [], [])
    again = advisor.publish(outcomes_pb2.CompactNow(), user="ann")
    assert (again.compacted, again.tokens_before) == (0, report.tokens_after)
    # Deleting folds the profile anew, from lines as well as from whole ones.
    advisor.publish(outcomes_pb2.DeleteOutcomes(user_id="ann", ids=["o12"]))
    with advisor.store.reading() as rows:
        sealer = advisor.handlers._reader_of("ann")
        kept = [opened(one, sealer) for one in rows.outcomes("ann")]
        figures = advisor.settings.behavioral.outcomes.profile
        assert profile_of(rows, "ann", sealer) == folded(kept, figures, profile_of(rows, "ann", sealer))


def test_many_outcomes_are_compacted_without_waiting_for_the_week(tmp_path):
    settings = Settings.model_validate({"behavioral": {"model_deadline_ms": 10, "outcomes": {"compact_after": 3}}})
    advisor = Advisor(MemoryBehavioralStore(), tmp_path, settings)
    advisor.consent()
    for number in range(3):
        advisor.record(f"s{number}", days_ago=60, reason="long ago")
    assert advisor.profile().compacted_through_us == 0
    advisor.record("s3", days_ago=1, reason="lately")
    found = advisor.outcomes(3).outcomes
    assert [one.compacted for one in found] == [False, True, True, True]


def test_types_name_kinds_and_there_are_not_endlessly_many_of_them(tmp_path):
    settings = Settings.model_validate({"behavioral": {"model_deadline_ms": 10, "outcomes": {"types": 2}}})
    advisor = Advisor(MemoryBehavioralStore(), tmp_path, settings)
    advisor.consent()
    advisor.record("s1", type="one")
    advisor.record("s2", type="two")
    with pytest.raises(InvalidMessage, match="2 types"):
        advisor.record("s3", type="three")
    assert advisor.record("s4", type="two").status == "recorded"
    assert advisor.profile().outcomes == 3


def test_what_is_said_to_be_decided_in_the_future_is_refused_and_changes_nothing(advisor):
    with pytest.raises(InvalidMessage, match="in the future"):
        advisor.record("s1", days_ago=-2)
    advisor.publish(outcomes_pb2.SuggestionMade(user_id="ann", suggestion_id="s2", type="add_task"))
    late = outcomes_pb2.DecideSuggestion(
        user_id="ann", suggestion_id="s2", outcome="accepted", decided_us=START_US + 2 * DAY_US
    )
    with pytest.raises(InvalidMessage, match="in the future"):
        advisor.publish(late)
    assert advisor.profile().outcomes == 0
    # A clock that is a day ahead is believed.
    assert advisor.record("s1", days_ago=-1).status == "recorded"


def test_a_user_can_delete_one_outcome_or_everything(advisor):
    advisor.record("s1", "accepted")
    advisor.record("s2", "rejected")
    with pytest.raises(NotFound):
        advisor.publish(outcomes_pb2.DeleteOutcomes(user_id="ann", ids=["o1", "o77"]))
    gone = advisor.publish(outcomes_pb2.DeleteOutcomes(user_id="ann", ids=["s1"]))
    assert (gone.deleted, gone.left) == (1, 1)
    profile = advisor.profile()
    assert (profile.accepted, profile.rejected) == (0, 1)
    assert advisor.record("s3").outcome_id == "o3"
    assert advisor.publish(outcomes_pb2.DeleteOutcomes(user_id="ann", all=True)).deleted == 2
    assert advisor.profile().outcomes == 0
    assert advisor.outcomes().matching == 0


def test_a_user_can_delete_one_open_suggestion_and_the_others_stay(advisor):
    advisor.record("s1")
    for name in ("s2", "s3"):
        advisor.publish(outcomes_pb2.SuggestionMade(user_id="ann", suggestion_id=name, type="add_habit", value="swim"))
    listed = outcomes_pb2.SuggestionsRequest(user_id="ann")
    with pytest.raises(NotFound):
        advisor.publish(outcomes_pb2.DeleteOutcomes(user_id="ann", ids=["s2", "s77"]))
    assert len(advisor.ask(listed).suggestions) == 2
    gone = advisor.publish(outcomes_pb2.DeleteOutcomes(user_id="ann", ids=["s2"]))
    assert (gone.deleted, gone.left) == (1, 1)
    assert [one.suggestion_id for one in advisor.ask(listed).suggestions] == ["s3"]
    assert not any("s2" in line for line in advisor.export("ann"))
    assert advisor.profile().accepted == 1
    gone = advisor.publish(outcomes_pb2.DeleteOutcomes(user_id="ann", ids=["o1", "s3"]))
    assert (gone.deleted, gone.left) == (2, 0)


def test_one_users_outcomes_are_not_anothers(advisor):
    advisor.consent("bob")
    advisor.record("s1")
    assert advisor.outcomes(user="bob").matching == 0
    assert advisor.profile("bob").outcomes == 0
    with pytest.raises(NotFound):
        advisor.publish(outcomes_pb2.DecideSuggestion(user_id="bob", suggestion_id="s1", outcome="rejected"), user="bob")


def test_the_export_tells_outcomes_profile_and_open_suggestions_in_words(advisor):
    advisor.record("s1", reason="morning exercise")
    advisor.publish(outcomes_pb2.SuggestionMade(user_id="ann", suggestion_id="s2", type="add_habit", value="swim"))
    lines = {entry["section"]: entry for entry in map(json.loads, advisor.export("ann"))}
    assert lines["behavioral.outcome"]["reason"] == "morning exercise"
    assert lines["behavioral.outcome_profile"]["types"]["add_habit"]["accepted"] == 1
    assert lines["behavioral.suggestion"]["value"] == "swim"
    assert not {"sealed_body", "sealed", "answer", "updated_us"} & set().union(*lines.values())


def test_words_are_sealed_and_gone_with_the_users_key(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.unit.behavioral.worker.Vault", lambda home, *_: open_vault(home, SecuritySettings(), {}))
    advisor = Advisor(MemoryBehavioralStore(), tmp_path)
    advisor.consent()
    advisor.record("s1", value="secret_target", reason="a very private reason")
    advisor.publish(outcomes_pb2.SuggestionMade(user_id="ann", suggestion_id="s2", type="add_habit", value="secret_target"))
    advisor.embed()
    tables = advisor.store.state.tables
    kept = repr([tables.outcomes, tables.profiles, tables.vectors, tables.suggestions]).encode()
    assert b"secret" not in kept
    assert b"private" not in kept
    assert advisor.outcomes(3).outcomes[0].reason == "a very private reason"
    advisor.handlers._ports.vault.users.destroy("ann")
    assert [(one.reason, one.value) for one in advisor.outcomes(3).outcomes] == [("", "")]
    assert advisor.profile().outcomes == 0
    assert advisor.advise().verdict == "yes"
    assert "secret" not in "".join(advisor.export("ann"))
    assert [one.value for one in advisor.ask(outcomes_pb2.SuggestionsRequest(user_id="ann")).suggestions] == [""]
    assert advisor.publish(outcomes_pb2.CompactNow(), user="").compacted == 0
    assert advisor.publish(outcomes_pb2.CurateInsights(), user="").insights == []
    # Whoever comes back begins anew, with a key of their own.
    assert advisor.record("s9").outcome_id == "o2"
    assert advisor.profile().outcomes == 1
    assert advisor.publish(outcomes_pb2.DeleteOutcomes(user_id="ann", all=True)).deleted == 3, "the open suggestion, too"


def test_the_id_of_an_outcome_names_no_suggestion_that_is_called_alike(advisor):
    advisor.record("o2", value="swim")
    advisor.record("s2", value="run")
    assert [one.value for one in advisor.outcomes(3, ids=["o2"]).outcomes] == ["run"]
    advisor.publish(outcomes_pb2.SuggestionMade(user_id="ann", suggestion_id="o1", type="add_habit", value="read"))
    gone = advisor.publish(outcomes_pb2.DeleteOutcomes(user_id="ann", ids=["o2"]))
    assert (gone.deleted, gone.left) == (1, 1)
    assert [one.value for one in advisor.outcomes().outcomes] == ["swim"]
    # No outcome is called o2 any more: the suggestion is.
    assert advisor.publish(outcomes_pb2.DeleteOutcomes(user_id="ann", ids=["o2"])).deleted == 1
    listed = advisor.ask(outcomes_pb2.SuggestionsRequest(user_id="ann"))
    assert [one.suggestion_id for one in listed.suggestions] == ["o1"]
    assert advisor.publish(outcomes_pb2.DeleteOutcomes(user_id="ann", ids=["o1"])).deleted == 1


def test_numbers_are_given_once_also_where_everything_was_deleted(advisor):
    advisor.record("s1")
    advisor.record("s2")
    advisor.publish(outcomes_pb2.DeleteOutcomes(user_id="ann", all=True))
    assert advisor.profile().outcomes == 0
    assert advisor.record("s3").outcome_id == "o3"
    advisor.publish(outcomes_pb2.DeleteOutcomes(user_id="bob", all=True), user="bob")
    with advisor.store.reading() as rows:
        assert rows.profile("bob") is None


def test_many_young_or_compacted_outcomes_are_not_opened_for_each_new_one(tmp_path, monkeypatch):
    figures = {"compact_after": 3, "compact_bytes": 1000}
    settings = Settings.model_validate({"behavioral": {"model_deadline_ms": 10, "outcomes": figures}})
    advisor = Advisor(MemoryBehavioralStore(), tmp_path, settings)
    advisor.consent()
    for number in range(20):
        advisor.record(f"old{number}", days_ago=60, reason="long ago " * 20)
    for number in range(5):
        advisor.record(f"s{number}", days_ago=1, reason="lately")
    looked = []
    monkeypatch.setattr("services.behavioral.advisor.recording.compact_user", lambda *given: looked.append(given))
    advisor.record("last", days_ago=1)
    assert looked == []
    found = advisor.outcomes(3, top_k=100).outcomes
    assert [one.compacted for one in found] == [False] * 6 + [True] * 20
