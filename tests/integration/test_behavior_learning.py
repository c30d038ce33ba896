"""Feedback given in one process changes what another chooses next, also after kill -9 of the worker."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from aico_memory.errors import NotFound
from aico_memory.runtime.processes import restart_process
from tests.support.deployment import Deployment

PEOPLE = 7


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
    restart_process(deployment.home, "behavioral", 60, signal.SIGKILL)
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
        assert report["outcome"] in {"learned", "refused"}
        shown = client.policies()
        assert shown["prior"] == report["prior"]
        assert shown["priors"][-1]["users"] >= PEOPLE
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
    told = deployment.ok("policies", "--json").json
    assert {one["name"] for one in told["policies"]} == {"hierarchical-thompson", "hybrid-40-30-30"}
