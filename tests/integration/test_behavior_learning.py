"""Feedback given in one process changes what another chooses next, also after kill -9 of the worker."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Callable

import pytest

from aico_memory.errors import InvalidFeedback, InvalidMessage, NotFound
from aico_memory.runtime.processes import restart_process
from tests.support.deployment import Deployment

pytestmark = pytest.mark.deployment
PEOPLE = 8


def teach(client, user: str, liked: str, turns: int, intent: str = "question") -> None:
    for turn in range(turns):
        chosen = client.select_skill(
            user, "Tell me", intent=intent, sentiment="neutral", time_of_day="morning", request_id=f"{user}-{turn}"
        )
        reward = 1 if chosen["skill_id"] == liked else -1
        client.feedback(user, f"{user}-answer-{turn}", chosen["skill_id"], reward, request_id=f"{user}-{turn}")


def choose(client, user: str, request_id: str) -> dict:
    return client.select_skill(
        user, "Tell me", intent="question", sentiment="neutral", time_of_day="morning", request_id=request_id
    )


def test_thumbs_change_the_next_choice_of_another_process_and_survive_kill_9(
    make_deployment: Callable[..., Deployment],
) -> None:
    deployment = make_deployment("thumbs")
    deployment.up()
    with deployment.client() as client:
        client.set_consent("ana", behavioral=True)
        fresh = choose(client, "ana", "before")
        teach(client, "ana", "reactive_only", 12)
        style = {one["dimension"]: one["slope"] for one in client.style("ana")}
    # Another process: the command line.
    other = deployment.ok(
        "select-skill", "Tell me", "--user", "ana", "--intent", "question", "--sentiment", "neutral",
        "--time-of-day", "morning", "--request-id", "elsewhere", "--json",
    ).json  # fmt: skip
    assert other["skill_id"] == "reactive_only"
    restart_process(deployment.home, "behavioral", 120, signal.SIGKILL)
    with deployment.client() as client:
        assert choose(client, "ana", "after-kill")["skill_id"] == "reactive_only"
        assert choose(client, "ana", "before") == fresh
        assert {one["dimension"]: one["slope"] for one in client.style("ana")} == style
        why = client.explain_selection("after-kill")
        assert set(why["shares"]) == {"trigger", "posterior", "alignment"}
        assert sum(why["shares"].values()) == pytest.approx(why["score"])
        with pytest.raises(NotFound):
            client.explain_selection("never-asked")
        undone = client.undo_learning("ana")
        assert (undone["undone"], undone["left"]) == (12, 0)
        assert {skill["uses"] for skill in client.skills("ana")} == {0}


def test_a_prior_learned_from_some_serves_the_next_person_and_is_shown(deployment: Deployment) -> None:
    with deployment.client() as client:
        for number in range(PEOPLE):
            client.set_consent(f"prior-{number}", behavioral=True)
            teach(client, f"prior-{number}", "formal_prose", 8, intent="creative")
        report = client.learn_now()
        assert report["people"] >= PEOPLE
        assert report["outcome"] in {"learned", "refused"}, report
        shown = client.policies()
        assert shown["prior"] == report["prior"]
        # About a quarter of them is held out for the trial.
        assert PEOPLE // 2 < shown["priors"][-1]["users"] < report["people"]
        assert client.learn_now()["outcome"] == "nothing_new"
        assert any(one["in_use"] and one["name"] == "hierarchical-thompson" for one in shown["policies"])


def test_skills_have_named_dimensions_and_ones_own_can_be_made_and_deleted(deployment: Deployment) -> None:
    with deployment.client() as client:
        client.set_consent("maker", behavioral=True)
        made = client.put_skill("maker", "Answer in rhyme.", name="Rhymes", intents=["creative"])
        skills = {skill["skill_id"]: skill for skill in client.skills("maker")}
        assert skills["concise_response"]["dimensions"]["verbosity"] == pytest.approx(0.2)
        assert skills[made["skill_id"]]["template"] == "Answer in rhyme."
        client.feedback("maker", "answer-1", made["skill_id"], 1)
        (bucket,) = client.preferences("maker")
        assert set(bucket["dimensions"]) == set(made["dimensions"])
        (thumb,) = client.feedback_list("maker")
        assert (thumb["skill_id"], thumb["reward"], thumb["undone"]) == (made["skill_id"], 1, False)
        assert client.delete_feedback("maker", thumb["event_id"]) == {"undone": 1, "left": 0}
        assert client.change_skill("maker", made["skill_id"], "delete")["status"] == "deleted"
        with pytest.raises(InvalidMessage):
            client.put_skill("maker", "Weights in grams.", topics=["baking bread", ""])
        baking = deployment.ok("skill-put", "Weights in grams.", "--topic", "baking bread", "--user", "maker", "--json").json
        assert (baking["topics"], baking["intents"]) == (["baking bread"], [])
    told = deployment.ok("policies", "--json").json
    assert {one["name"] for one in told["policies"]} == {"hierarchical-thompson", "hybrid-40-30-30"}


def test_feedback_is_changed_by_the_command_line_and_everything_of_a_user_taken_along(deployment: Deployment) -> None:
    event_id = "00000000-0000-7000-8000-0000000000ed"
    with deployment.client() as client:
        client.set_consent("edith", behavioral=True)
        chosen = choose(client, "edith", "edith-1")["skill_id"]
        given = client.feedback("edith", "a", chosen, -1, reason="too_verbose", request_id="edith-1", event_id=event_id)
        changed = deployment.ok(
            "feedback-edit", event_id, "--reward", "1", "--reason", "", "--user", "edith", "--json"
        ).json  # fmt: skip
        assert changed["new_confidence"] > given["new_confidence"]
        (entry,) = client.feedback_list("edith")
        assert (entry["reward"], entry["reason"]) == (1, "")
        assert client.edit_feedback("edith", event_id, free_text="lovely")["status"] == "success"
        with pytest.raises(NotFound):
            client.edit_feedback("somebody-else", event_id, reward=0)
        sections = {line["section"] for line in client.export_behavior("edith")}
    assert sections >= {"behavioral.consent", "behavioral.feedback", "behavioral.selection", "behavioral.evolution"}
    lines = deployment.ok("behavior-export", "--user", "edith").out
    assert "lovely" in lines


def test_a_skill_is_applied_to_a_system_prompt_and_consent_is_shown(deployment: Deployment) -> None:
    user = f"applied-{uuid.uuid4()}"
    prompt = "You are a tutor."
    with deployment.client() as client:
        applied = client.apply_skill(user, prompt, "Sum that up, please.", intent="summary")
        assert applied["outcome"] == "no_consent" and applied["skill"] is not None
        assert applied["skill"]["skill_id"] == "summarize_key_points", "what is made for the situation"
        assert applied["prompt"] == f"{prompt}\n\n{applied['skill']['template'].strip()}"
        assert deployment.ok("consent", "--user", user, "--json").json == {"behavioral": False, "long_term": True}
        shown = deployment.ok("select-skill", "Sum that up, please.", "--intent", "summary", "--user", user).out
        assert "A fixed choice" in shown
        client.set_consent(user, behavioral=True)
        told = deployment.ok(
            "apply-skill", "How far is the moon?", "--prompt", prompt, "--user", user, "--request-id", "moon"
        ).out
        chosen = client.explain_selection("moon", user)
        assert told.startswith(prompt) and chosen["outcome"] == "applied"
        moon, *_, first = client.selection_list(user)
        assert (moon["request_id"], moon["message"], moon["reward"]) == ("moon", "How far is the moon?", None)
        assert (first["outcome"], first["intent"], first["message"]) == ("no_consent", "", "")
        listed = deployment.ok("selection-list", "--user", user, "--skill", moon["skill_id"], "--limit", "1", "--json").json
        assert listed == [moon]
        assert client.delete_selections(user, moon["request_id"]) == 1
        assert moon["request_id"] not in [one["request_id"] for one in client.selection_list(user)]
        assert deployment.run("selection-delete", "--user", user).code != 0
        with pytest.raises(InvalidMessage):
            client.delete_selections(user)
        assert deployment.ok("selection-delete", first["request_id"], "--user", user, "--json").json == {"deleted": 1}
        client.set_preference(user, {"verbosity": 0.2})
        assert {one["dimension"]: one["stated"] for one in client.style(user)}["verbosity"] == 0.2
        assert "behavioral on" in deployment.ok("consent", "--user", user).out
        with pytest.raises(InvalidFeedback) as refusal:
            client.feedback(user, "answer", "concise_response", 1, reason="boring")
        assert refusal.value.code == "validation_error"


def test_answers_stand_beside_selections_lists_go_on_and_a_policy_is_judged_before_it_is_used(deployment: Deployment) -> None:
    user = f"listed-{uuid.uuid4()}"
    with deployment.client() as client:
        client.set_consent(user, behavioral=True)
        teach(client, user, "concise_response", 5)
        names = [f"{user}-{turn}" for turn in reversed(range(5))]
        assert client.record_response(user, names[0], "The moon is 384,400 km away.") == "recorded"
        with pytest.raises(NotFound):
            client.record_response("somebody-else", names[0], "Nothing of mine.")
        first = client.selection_list(user, 2)
        then = client.selection_list(user, after=first[-1]["request_id"])
        assert [one["request_id"] for one in first + then] == names
        assert (first[0]["response"], then[0]["response"]) == ("The moon is 384,400 km away.", "")
        thumbs = client.feedback_list(user, 2)
        thumbs += client.feedback_list(user, after=thumbs[-1]["event_id"])
        assert [one["request_id"] for one in thumbs] == names
        with pytest.raises(NotFound):
            client.selection_list(user, after="never-asked")
        in_use = client.policies()
        judged = client.evaluate_policy("hybrid-40-30-30")
        assert (judged["in_use"]["policy"], judged["candidate"]["policy"]) == ("hierarchical-thompson", "hybrid-40-30-30")
        assert judged["decisions"] >= 5 and judged["changes"] == ["policy: hierarchical-thompson → hybrid-40-30-30"]
        assert client.policies() == in_use, "nothing is used by being judged"
        with pytest.raises(InvalidMessage):
            client.evaluate_policy("nobody's")
    listed = deployment.ok("feedback-list", "--user", user, "--limit", "2", "--after", thumbs[0]["event_id"], "--json").json
    assert [one["event_id"] for one in listed] == [one["event_id"] for one in thumbs[1:3]]
