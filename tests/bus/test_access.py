"""Access rules: the shipped table, and the pure decisions over it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aico_memory.bus.access import (
    AccessRules,
    Identity,
    Role,
    load_access,
    refuse_control,
    refuse_publish,
    refuse_read,
    refuse_subscribe,
)
from aico_memory.contracts.registry import topics
from aico_memory.contracts.wire import marks_topic, reply_topic
from aico_memory.errors import ConfigurationInvalid
from aico_memory.paths import shipped_config

MESSAGE = "memory/working/message/v1/"
CHANGED = "memory/semantic/changed/v1/"
SESSION = bytes(16)
WORKERS = ("working", "semantic", "behavioral", "consolidation", "context", "model", "scheduler")


@pytest.fixture(scope="module")
def rules() -> AccessRules:
    return load_access(shipped_config() / "access.yaml")


def identity(rules: AccessRules, role: str, scopes="all", name: str = "") -> Identity:
    return Identity(name or role, f"{role}.0", role, rules.roles[role], scopes)


def test_every_topic_has_a_publisher_and_a_hearer(rules) -> None:
    for name, topic in topics().items():
        user = "alice" if topic.needs_user else ""
        apart_from_operator = [role for role in rules.roles if role != "operator"]
        publishers = [role for role in apart_from_operator if refuse_publish(identity(rules, role), name, user) is None]
        hearers = [role for role in rules.roles if refuse_subscribe(identity(rules, role), name) is None]
        assert publishers or refuse_publish(identity(rules, "operator"), name, user) is None, f"nobody may publish {name}"
        assert hearers, f"nobody may hear {name}"


def test_every_worker_hears_the_topics_it_owns_and_may_answer(rules) -> None:
    for name, topic in topics().items():
        if topic.owner in WORKERS:
            worker = identity(rules, topic.owner)
            assert refuse_subscribe(worker, name) is None, (topic.owner, name)
            if topic.reply is not None:
                assert refuse_publish(worker, reply_topic("default", SESSION), "") is None


def test_the_client_role_may_publish_every_request_that_comes_from_outside(rules) -> None:
    client = identity(rules, "client")
    refused = [
        name for name, topic in topics().items() if topic.external and refuse_publish(client, name, "alice") is not None
    ]  # fmt: skip
    # What a language model answered comes from outside, too, and is recorded; only the worker that asked may say it.
    # Reading the schedule anew is the operator's.
    answered = ["memory/semantic/extracted/v1/", "memory/semantic/summary_told/v1/"]
    assert refused == ["memory/scheduler/reload/v1/", *answered]


def test_no_client_may_pretend_to_be_a_worker(rules) -> None:
    for role in ("client", "observer", "publisher"):
        outside = identity(rules, role)
        for name in (CHANGED, "memory/working/consolidated/v1/", "memory/bus/dead_letter/v1/", "memory/bus/audit/v1/"):
            assert refuse_publish(outside, name, "alice").code == "access_denied"
        assert refuse_publish(outside, reply_topic("default", SESSION), "").code == "access_denied"
        assert refuse_control(outside, "report").code == "access_denied"
        assert refuse_control(outside, "dead_letters").code == "access_denied"


def test_the_publisher_hears_nothing_and_the_observer_says_nothing(rules) -> None:
    assert all(refuse_subscribe(identity(rules, "publisher"), name) is not None for name in topics())
    assert all(refuse_publish(identity(rules, "observer"), name, "alice") is not None for name in topics())
    assert refuse_subscribe(identity(rules, "observer"), CHANGED) is None


def test_a_reply_topic_is_its_requesters_alone(rules) -> None:
    for role in rules.roles:
        mine, other = identity(rules, role, name="mine"), reply_topic("other", SESSION)
        assert refuse_subscribe(mine, reply_topic("mine", SESSION)) is None
        assert refuse_subscribe(mine, other).code == "access_denied"
        for prefix in ("memory/reply/", "memory/reply/other/", "memory/reply/mine/", reply_topic("mine", SESSION)[:-1]):
            assert refuse_subscribe(mine, prefix) is not None, prefix


@pytest.mark.parametrize("prefix", ["", "memory", "memory/", "m", "memory/working/message/v1", "memory/working/message/v1/x/"])
def test_a_prefix_that_is_wider_or_badly_cut_is_refused(rules, prefix) -> None:
    assert refuse_subscribe(identity(rules, "working"), prefix) is not None
    assert refuse_read(identity(rules, "working"), prefix) is not None


def test_an_identity_bound_to_users_publishes_and_reads_for_those_only(rules) -> None:
    bound = identity(rules, "client", ("alice", "bob"))
    assert refuse_publish(bound, MESSAGE, "alice") is None
    assert refuse_publish(bound, MESSAGE, "eve").code == "access_denied"
    assert refuse_publish(bound, "memory/consolidation/runs/v1/", "").code == "access_denied"
    assert "replay" in refuse_subscribe(bound, CHANGED).mend
    assert refuse_read(bound, CHANGED) is None
    assert refuse_subscribe(bound, reply_topic("client", SESSION)) is None


def test_an_identity_bound_to_users_asks_what_is_nobodys_and_what_concerns_one_that_it_names(rules) -> None:
    bound = identity(rules, "client", ("alice", "bob"))
    may = {name for name, topic in topics().items() if topic.may_name_user}
    assert may == {
        "memory/behavioral/explain_selection/v1/", "memory/consolidation/pending/v1/", "memory/consolidation/status/v1/",
        "memory/semantic/policy/v1/", "memory/semantic/policy_change/v1/",
    }  # fmt: skip
    for name in may:
        assert refuse_publish(bound, name, "alice") is None
        assert refuse_publish(bound, name, "eve").code == "access_denied"
        assert "Name one of its users" in refuse_publish(bound, name, "").mend
        assert refuse_publish(identity(rules, "client"), name, "") is None
    nobodys = [name for name, topic in topics().items() if topic.about_nobody]
    assert nobodys == ["memory/behavioral/classify_text/v1/"]
    assert refuse_publish(bound, nobodys[0], "") is None
    assert refuse_publish(bound, nobodys[0], "eve").code == "access_denied"
    concern_all = [
        name for name, topic in topics().items()
        if not (topic.needs_user or topic.may_name_user or topic.about_nobody)
    ]  # fmt: skip
    assert all(refuse_publish(bound, name, user) is not None for name in concern_all for user in ("", "alice"))


def test_a_publish_without_the_user_its_topic_needs_is_refused(rules) -> None:
    assert refuse_publish(identity(rules, "client"), MESSAGE, "").code == "invalid_message"


def test_the_beacon_is_for_everybody_and_a_ready_topic_names_a_session(rules) -> None:
    publisher = identity(rules, "publisher")
    assert refuse_subscribe(publisher, "_bus/heads/") is None
    assert refuse_subscribe(publisher, marks_topic(["memory/working/message/v1/"]).decode()) is None
    assert refuse_subscribe(publisher, "_bus/marks/") is not None
    assert refuse_subscribe(publisher, f"_bus/ready/{'0' * 32}/1/") is None
    for wide in ("_bus/", "_bus/ready/", "_", f"_bus/ready/{'0' * 32}"):
        assert refuse_subscribe(publisher, wide) is not None


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ({"roles": {"x": {"publish": ["memory/nonsense/"]}}}, "memory/nonsense/"),
        ({"roles": {"x": {"subscribe": ["memory/working/message/v1"]}}}, "slash"),
        ({"roles": {"x": {"controls": ["shutdown"]}}}, "controls"),
        ({"roles": {"x": {"speak": []}}}, "speak"),
        ({"rolls": {}}, "roles"),
        ([], "dictionary"),
    ],
)
def test_rules_that_name_what_does_not_exist_are_refused(tmp_path: Path, content, named) -> None:
    path = tmp_path / "access.yaml"
    path.write_text(json.dumps(content))
    with pytest.raises(ConfigurationInvalid, match=named):
        load_access(path)


def test_a_role_without_anything_may_only_ping() -> None:
    nobody = Identity("nobody", "nobody.0", "none", Role(), "all")
    assert refuse_control(nobody, "ping") is None
    assert refuse_control(nobody, "consumers") is not None
