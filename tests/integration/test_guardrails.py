"""Changes of the system's own rules through the command line and the client of a real deployment."""

from __future__ import annotations

import uuid

import pytest

from tests.support.deployment import Deployment, MakeDeployment, said

pytestmark = [pytest.mark.deployment, pytest.mark.timeout(900)]


def waiting(run: Deployment, user: str, count: int) -> list[str]:
    with run.client() as client:
        return [one["id"] for one in client.review_queue(user, limit=count)["results"]]


def test_reviews_lead_to_a_proposal_that_is_approved_rolled_back_and_told(make_deployment: MakeDeployment) -> None:
    run = make_deployment(AICO_MEMORY_SET__guardrails__labels="12", AICO_MEMORY_SET__guardrails__cases="2")
    run.up()
    with run.client() as client:
        client.set_policy(require_approval_kinds=["preference"])
        told = client.self_adjust()
        assert told["told"]["write_policy"] == "too few labels: 0 of 12" and told["adjustments"] == []
        foods = ("pasta", "sushi", "curry", "bread", "cheese", "olives", "mango", "rice", "soup", "cake", "beans", "corn")
        for food in (*foods, "figs", "nuts", "leeks", "kale", "dates", "plums", "peas", "eggs"):
            # Which labels are kept aside follows from ids: drawn anew, they were too few once in a while.
            client.add(said(f"I love {food}", id=str(uuid.uuid5(uuid.NAMESPACE_OID, food))), "ana", session_id=food)
        client.flush()
        queue = client.review_queue("ana", limit=100)["results"]
        assert len(queue) >= 16, queue
        for one in queue:
            client.promote(one["id"], "ana")
    made = run.ok("guardrails", "run", "--json").json
    (entry,) = made["adjustments"]
    assert (entry["subject"], entry["status"]) == ("write_policy", "proposed"), made
    listed = run.ok("guardrails", "list", "--json").json
    assert [one["id"] for one in listed] == [entry["id"]]
    assert "proposed" in run.ok("guardrails", "list").out
    assert run.ok("guardrails", "approve", entry["id"], "--json").json["status"] == "applied"
    assert run.ok("policy", "show", "--json").json["effective"]["require_approval_kinds"] == []
    shown = run.ok("guardrails", "show", entry["id"], "--json").json
    assert shown["snapshot"]["require_approval_kinds"] == ["preference"] and shown["rules"]["require_approval_kinds"] == []
    assert run.status()["workers"]["semantic"]["adjustments"]["applied"]["write_policy"] == entry["version"]
    for _ in range(2):
        assert run.ok("guardrails", "rollback", entry["id"], "--json").json["status"] == "rolled_back"
    assert run.ok("policy", "show", "--json").json["effective"]["require_approval_kinds"] == ["preference"]
    assert run.run("guardrails", "show", "0198c0de-0000-7000-8000-000000000001").code == 5
    with run.client() as client:
        assert client.learn_now()["outcome"] == "nothing_new"
        assert client.adjustments("behavioral_prior") == []
