"""Facts through real processes: told, flushed, recalled; then and now, of whom one may ask, what waits, and why."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from aico_memory import MemoryClient
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import bus_pb2, write_path_pb2
from aico_memory.errors import AccessDenied, NotFound, RefusedTransition
from aico_memory.ids import new_id
from aico_memory.runtime.probe import broker_says
from tests.support.deployment import Deployment, MakeDeployment, eventually, said
from tests.support.raw_bus import heard, raw_bus

pytestmark = pytest.mark.deployment
MARCH, APRIL, MAY, JUNE = (f"2026-{month:02}-01T12:00:00+00:00" for month in (3, 4, 5, 6))
SECONDS = 120


def values(client: MemoryClient, question: str, user: str, **fields: Any) -> list[str | None]:
    return [fact["value"] for fact in client.recall(question, user, **fields)["results"]]


def tell(client: MemoryClient, user: str, *texts: tuple[str, str], **fields: Any) -> list[str]:
    ids = client.add([said(text, timestamp=at) for at, text in texts], user, **fields)
    client.flush(SECONDS)
    return ids


@pytest.mark.parametrize(
    ("user", "texts", "question", "first", "second"),
    [
        ("en-mover", ("I live in Leeds.", "I moved to Bath."), "Where do I live?", "Leeds", "Bath"),
        ("de-mover", ("Ich wohne in Ulm.", "Ich bin nach Hof gezogen."), "Wo wohne ich?", "Ulm", "Hof"),
        ("tr-mover", ("Bursa'da yaşıyorum.", "Bolu'ya taşındım."), "Nerede yaşıyorum?", "Bursa", "Bolu"),
    ],
)
def test_what_was_said_is_answered_after_flush_then_and_now(
    deployment: Deployment, user: str, texts: tuple[str, str], question: str, first: str, second: str
) -> None:
    with deployment.client() as client:
        _, second_id = tell(client, user, (MARCH, texts[0]), (MAY, texts[1]))
        (now,) = client.recall(question, user)["results"]
        assert set(now) == {"id", "memory", "value", "valid_from", "valid_until", "confidence", "evidence"}
        assert (now["value"], now["valid_from"], now["valid_until"], now["evidence"]) == (second, MAY, None, [second_id])
        (then,) = client.recall(question, user, as_of=APRIL)["results"]
        assert (then["value"], then["valid_until"]) == (first, MAY)
        assert values(client, question, user, as_of="2026-02-01T00:00:00Z") == []
        assert values(client, question, user, as_of=JUNE, known_as_of=APRIL) == [first], "the move was not known yet"


def test_a_correction_was_never_true_but_what_was_known_before_it_stays_known(deployment: Deployment) -> None:
    with deployment.client() as client:
        tell(client, "corrector", (MARCH, "My sister is called Lena."), (MAY, "No, my sister is called Lea, not Lena."))
        question = "What is my sister called?"
        assert values(client, question, "corrector") == ["Lea"]
        assert values(client, question, "corrector", as_of=APRIL) == ["Lea"]
        assert values(client, question, "corrector", as_of=APRIL, known_as_of=APRIL) == ["Lena"]


def test_a_late_arrival_is_ordered_by_when_it_was_said(deployment: Deployment) -> None:
    with deployment.client() as client:
        tell(client, "latecomer", (MAY, "I moved to Bath."))
        tell(client, "latecomer", (MARCH, "I live in Leeds."))
        assert values(client, "Where do I live?", "latecomer") == ["Bath"]
        assert values(client, "Where do I live?", "latecomer", as_of=APRIL) == ["Leeds"]
        assert values(client, "Where do I live?", "latecomer", as_of=APRIL, known_as_of=APRIL) == ["Leeds"]


def test_many_values_are_all_told_and_one_that_ended_is_not(deployment: Deployment) -> None:
    with deployment.client() as client:
        tell(client, "allergic", (MARCH, "I'm allergic to nuts."), (APRIL, "I'm allergic to eggs."),
             (MAY, "I'm no longer allergic to nuts."))  # fmt: skip
        assert values(client, "What am I allergic to?", "allergic") == ["eggs"]
        assert sorted(filter(None, values(client, "What am I allergic to?", "allergic", as_of=APRIL))) == ["eggs", "nuts"]


def test_nothing_leaves_its_scope_and_two_of_a_group_stay_two(deployment: Deployment) -> None:
    with deployment.client() as client:
        tell(client, "adele", (MARCH, "I live in Leeds."))
        tell(client, "adele", (MARCH, "I work for Globex."), group_id="choir-7")
        tell(client, "bea", (APRIL, "I work for Initech."), group_id="choir-7")
        tell(client, "adele", (MARCH, "My favourite colour is green."), project_id="garden-7")
        for verb in ("Where do I live?", "Where does Adele live?", "Who lives in Leeds?"):
            assert "Leeds" not in values(client, verb, "bea", group_id="choir-7", project_id="garden-7")
        assert values(client, "Where do I work?", "adele", group_id="choir-7") == ["Globex"]
        assert values(client, "Where do I work?", "bea", group_id="choir-7") == ["Initech"]
        assert values(client, "Where does Adele work?", "bea", group_id="choir-7") == ["Globex"]
        assert values(client, "Where do I work?", "adele") == []
        assert values(client, "What is my favourite colour?", "adele", project_id="garden-7") == ["green"]
        for found in (client.search("Leeds Globex green", "bea"), client.get_all("bea")):
            assert not [one for one in found["results"] if one["user_id"] == "adele"]
        shared = client.search("Globex", "bea", group_id="choir-7")["results"]
        assert [one["scope"] for one in shared if "Globex" in one["memory"]] and {one["scope"] for one in shared} == {
            "group:choir-7"
        }
        listed = client.get_all("bea", group_id="choir-7")["results"]
        ours = next(one["id"] for one in listed if one["value"] == "Globex")
        with pytest.raises(NotFound):
            client.get(ours, "bea")
        assert client.get(ours, "bea", group_id="choir-7")["user_id"] == "adele"
        with pytest.raises(AccessDenied):
            client.update(ours, "Adele works for nobody", "bea", group_id="choir-7")
        with pytest.raises(NotFound):
            client.explain(ours, "bea")


def test_what_waits_for_review_is_told_only_once_it_is_promoted(deployment: Deployment) -> None:
    with deployment.client() as client:
        client.set_policy("reviewed", mode="manual")
        tell(client, "reviewed", (MARCH, "I live in Leeds."), (MARCH, "I have a dog."))
        assert values(client, "Where do I live?", "reviewed") == []
        waiting = client.review_queue("reviewed")
        by_value = {one["value"]: one for one in waiting["results"]}
        leeds = by_value["Leeds"]
        assert (leeds["status"], leeds["rule"], leeds["instead"]) == ("candidate", "mode_manual", "CREATE")
        outcome = client.promote(leeds["id"], "reviewed", reason="she said so")
        assert (outcome["action"], outcome["memory"]["status"]) == ("CREATE", "active")
        assert values(client, "Where do I live?", "reviewed") == ["Leeds"]
        other = next(one for value, one in by_value.items() if value != "Leeds")
        assert client.reject(other["id"], "reviewed", reason="a joke")["memory"]["status"] == "invalid"
        assert client.review_queue("reviewed")["waiting"] == len(waiting["results"]) - 2
        with pytest.raises(RefusedTransition, match="active"):
            client.promote(leeds["id"], "reviewed")
        with pytest.raises(NotFound):
            client.promote(str(uuid.uuid4()), "reviewed")
        report = client.shadow_report("reviewed")
        assert report["done"].get("CANDIDATE") == len(waiting["results"])
        assert report["in_auto"].get("CREATE") == len(waiting["results"])


def test_an_answer_that_nobody_heard_is_sent_again_and_the_command_is_applied_once(deployment: Deployment) -> None:
    user = "deaf"
    with deployment.client() as client, deployment.link() as operator, raw_bus(deployment.home, "default") as raw:
        client.set_policy(user, mode="manual")
        tell(client, user, (MARCH, "I live in Leeds."))
        (waiting,) = client.review_queue(user)["results"]
        ours = f"memory/reply/default/{raw.session.hex()}/v1/"
        command = write_path_pb2.ReviewDecision(user_id=user, memory_id=waiting["id"], decision="promote")
        identifier = new_id()
        given = make_record(command, event_id=identifier, occurred_us=1, user=user, reply_to=ours)
        ((sequence, _),) = raw.acknowledged(given)

        def answered() -> bool | None:
            rows = {row["name"]: row for row in broker_says(operator, "consumers")["consumers"]}
            return rows["semantic"]["settled"] >= sequence or None

        assert eventually(answered, "semantic does not answer", SECONDS)
        hears = raw.subscribe(ours.encode())
        again = bus_pb2.AnswerAgain(user_id=user, event_id=identifier.bytes)
        raw.publish(make_record(again, event_id=new_id(), occurred_us=1, user=user), ephemeral=True)
        assert heard(hears, b"CREATE")
        assert values(client, "Where do I live?", user) == ["Leeds"]
        (decided,) = client.history(waiting["id"], user)[1:]
        assert decided["cause"] == str(identifier)


def test_a_promoted_change_closes_what_it_changes(deployment: Deployment) -> None:
    with deployment.client() as client:
        tell(client, "promoted", (MARCH, "I live in Leeds."))
        client.set_policy("promoted", mode="manual")
        tell(client, "promoted", (MAY, "I moved to Bath."))
        assert values(client, "Where do I live?", "promoted") == ["Leeds"]
        (waiting,) = client.review_queue("promoted")["results"]
        assert waiting["target_memory"] and "Leeds" in waiting["target_memory"]
        assert client.promote(waiting["id"], "promoted")["changed"] == [waiting["target"]]
        assert values(client, "Where do I live?", "promoted") == ["Bath"]
        assert values(client, "Where do I live?", "promoted", as_of=APRIL) == ["Leeds"]
        assert client.rollback_policy("promoted")["effective"]["mode"] == "auto"


def test_read_only_keeps_the_record_and_changes_no_fact(deployment: Deployment) -> None:
    with deployment.client() as client:
        tell(client, "frozen", (MARCH, "I live in Leeds."))
        assert client.set_read_only(True, "frozen")["effective"]["read_only"]
        event_id = tell(client, "frozen", (MAY, "I moved to Bath."))[0]
        assert values(client, "Where do I live?", "frozen") == ["Leeds"]
        found = client.search("moved to Bath", "frozen", filters={"kind": "record"})["results"]
        assert event_id in found[0]["evidence"]
        (said_to,) = client.explain(event_id, "frozen")["events"]
        assert said_to["statements"][0]["admission"] == "read_only" and said_to["statements"][0]["waits"]
        assert not client.set_read_only(False, "frozen")["effective"]["read_only"]
        client.sleep_now("frozen", wait=True)
        client.flush(SECONDS)
        assert values(client, "Where do I live?", "frozen") == ["Bath"], "what waited is taken up by sleep"


def test_every_decision_is_explained_by_message_and_by_memory(deployment: Deployment) -> None:
    with deployment.client() as client:
        first, second = tell(client, "curious", (MARCH, "I live in Leeds."), (MAY, "I moved to Bath."))
        explained = client.explain(second, "curious")
        (event,) = explained["events"]
        (outcome,) = event["statements"]
        assert (outcome["action"], outcome["predicate"], outcome["in_shadow"]) == ("SUPERSEDE", "home_city", "SHADOW")
        assert outcome["neighbours"][0]["same_key"] and outcome["neighbours"][0]["contradiction"]
        (now,) = client.recall("Where do I live?", "curious")["results"]
        of_memory = client.explain(now["id"], "curious")
        assert [one["event_id"] for one in of_memory["events"]] == [second]
        (then,) = client.recall("Where do I live?", "curious", as_of=APRIL)["results"]
        changes = client.explain(then["id"], "curious")["changes"]
        assert {"created", "status", "valid_until"} <= {change["field"] for change in changes}
        assert {change["cause"] for change in changes} == {first, second}
        with pytest.raises(NotFound):
            client.explain(str(uuid.uuid4()), "curious")


def test_what_an_answer_used_grows_more_certain_once_an_interaction(deployment: Deployment) -> None:
    with deployment.client() as client:
        tell(client, "used", (MARCH, "I live in Leeds."))
        (before,) = client.recall("Where do I live?", "used")["results"]
        answer = f"I remember: {before['memory']}, is that right?"
        turn = client.add_turn("used", "Where do I live?", answer, interaction_id="i-1", injected=[before["id"]])
        client.flush(SECONDS)
        (after,) = client.recall("Where do I live?", "used")["results"]
        assert after["confidence"] == pytest.approx(before["confidence"] + 0.02)
        assert turn["interaction_id"] == "i-1"
        assert client.reinforce("i-1", "used")["results"] == [], "each memory once an interaction"
        client.add_turn("used", "And?", answer, interaction_id="i-2", reinforce=False)
        client.flush(SECONDS)
        raised = client.reinforce("i-2", "used", delta=0.05)["results"]
        assert [one["id"] for one in raised] == [after["id"]]
        assert raised[0]["new_confidence"] == pytest.approx(raised[0]["old_confidence"] + 0.05)
        with pytest.raises(NotFound):
            client.reinforce("i-3", "used")
        client.add_turn("used", "Where do I live?", "You live in Leeds.", interaction_id="i-4", reinforce=False)
        client.add_turn("used", "Where do I live?", "You don't live in Leeds.", interaction_id="i-5", reinforce=False)
        client.flush(SECONDS)
        assert [one["id"] for one in client.reinforce("i-4", "used")["results"]] == [after["id"]], "said in its own words"
        assert client.reinforce("i-5", "used")["results"] == [], "a denial is no use"
        (judged,) = client.judge(after["id"], "used", helpful=True)["results"]
        assert judged["utility"] == pytest.approx(0.55)


def test_platform_names_of_a_user_are_one_user(make_deployment: MakeDeployment) -> None:
    aliased = make_deployment(AICO_MEMORY_SET__identity__aliases='{"discord:7": "ana"}')
    aliased.up()
    with aliased.client() as client:
        tell(client, "discord:7", (MARCH, "I live in Leeds."))
        assert values(client, "Where do I live?", "ana") == values(client, "Where do I live?", "discord:7") == ["Leeds"]
        assert {one["user_id"] for one in client.get_all("discord:7")["results"]} == {"ana"}


@pytest.mark.timeout(900)
def test_the_command_line_tells_facts_and_reasons(deployment: Deployment) -> None:
    add = deployment.ok("add", "I live in Leeds.", "--user", "typist", "--timestamp", MARCH, "--wait", "--json").json
    (fact,) = deployment.ok("recall", "Where do I live?", "--user", "typist", "--json").json["results"]
    assert fact["value"] == "Leeds" and fact["evidence"] == add["event_ids"]
    assert "Leeds" in deployment.ok("recall", "Where do I live?", "--user", "typist").out
    assert "Nothing that is known" in deployment.ok("recall", "Where do I live?", "--user", "nobody").out
    assert "home_city" in deployment.ok("explain", add["event_ids"][0], "--user", "typist").out
    assert deployment.run("explain", str(uuid.uuid4()), "--user", "typist").code == 5


@pytest.mark.timeout(900)
def test_the_command_line_reviews_and_keeps_policies(deployment: Deployment) -> None:
    shown = deployment.ok("policy", "set", "--user", "reviewer", "--mode", "shadow", "--json").json
    assert shown["effective"]["mode"] == "shadow"
    deployment.ok("add", "I have a dog.", "--user", "reviewer", "--wait")
    (waiting,) = deployment.ok("review", "list", "--user", "reviewer", "--status", "shadow", "--json").json["results"]
    assert "dog" in deployment.ok("review", "list", "--user", "reviewer").out
    deployment.ok("review", "promote", waiting["id"], "--user", "reviewer")
    assert deployment.run("review", "promote", waiting["id"], "--user", "reviewer").code == 1
    assert deployment.ok("policy", "rollback", "--user", "reviewer", "--json").json["effective"]["mode"] == "auto"
    assert "read_only" in deployment.ok("policy", "read-only", "on", "--user", "reviewer").out
    assert deployment.run("policy", "read-only", "maybe").code == 2
    versions = deployment.ok("policy", "history", "--user", "reviewer", "--json").json
    assert [version["by"] for version in versions] == ["configuration", "default", "default", "default"]
    assert "SHADOW" in deployment.ok("policy", "shadow-report", "--user", "reviewer").out
