"""Reading config/schedule.yaml."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from aico_memory.domain.scheduling.job import Resource
from aico_memory.errors import ConfigurationInvalid
from aico_memory.paths import Home
from aico_memory.runtime.schedule_file import load_schedule, local_zone, parse_schedule

JOB = "jobs:\n  one:\n    cron: '0 2 * * *'\n    topic: memory/working/sweep/v1/\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "schedule.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_schedule_holds_every_job_of_the_specification(tmp_path: Path) -> None:
    jobs = load_schedule(Home(tmp_path))
    crons = {job.topic.removeprefix("memory/").removesuffix("/v1/"): job.cron.expression for job in jobs.values()}
    assert crons == {
        "consolidation/start": "0 2 * * *",
        "behavioral/classify_feedback": "0 3 * * *",
        "behavioral/learn": "0 4 * * *",
        "semantic/evolve": "0 3 * * 0",
        "semantic/cleanup": "30 4 * * 0",
        "behavioral/cleanup": "30 4 * * 0",
        "semantic/rehearse": "30 2 * * *",
        "semantic/reindex": "0 * * * *",
        "semantic/self_adjust": "15 5 * * *",
        "semantic/announce": "*/5 * * * *",
        "working/sweep": "*/10 * * * *",
        "behavioral/compact": "0 5 * * 0",
    }
    assert jobs["consolidation"].resource is Resource.HEAVY
    assert all(job.awaiting for job in jobs.values() if not job.enabled), "a disabled job says what it waits for"


def test_a_homes_own_schedule_replaces_the_shipped_one(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.config.mkdir()
    written(home.config, "zone: Europe/Berlin\n" + JOB)
    (job,) = load_schedule(home).values()
    assert (job.name, job.cron.zone) == ("one", ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (JOB + "    colour: red\n", "jobs.one.colour"),
        (JOB + "    priority: 101\n", "jobs.one.priority"),
        (JOB + "    resource: enormous\n", "jobs.one.resource"),
        (JOB + "    misfire: thrice\n", "jobs.one.misfire"),
        (JOB + "    idle: true\n", "jobs.one"),
        (JOB + "    awaiting: a worker\n", "jobs.one"),
        (JOB + "    zone: Middle/Earth\n", "jobs.one.zone"),
        ("zone: Middle/Earth\n" + JOB, "zone"),
        (JOB.replace("0 2 * * *", "0 25 * * *"), "jobs.one.cron"),
        (JOB.replace("0 2 * * *", "0 2 * *"), "jobs.one.cron"),
        (JOB.replace("working/sweep", "working/nothing"), "jobs.one.topic"),
        (JOB.replace("working/sweep", "working/message"), "jobs.one.topic"),
        (JOB.replace("working/sweep", "scheduler/jobs"), "jobs.one.topic"),
        ("jobs: [1]\n", "jobs"),
        ("[1]\n", ""),
        ("jobs: {a: {", "cannot be read as YAML"),
    ],
)
def test_a_wrong_schedule_is_refused_with_the_key_that_is_wrong(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(ConfigurationInvalid) as refused:
        parse_schedule(written(tmp_path, text))
    assert key in refused.value.detail
    assert "schedule.yaml" in refused.value.detail


def test_the_local_zone_is_that_of_the_environment_or_of_the_machine_or_utc(tmp_path: Path) -> None:
    link = tmp_path / "localtime"
    link.symlink_to("/usr/share/zoneinfo/Asia/Tokyo")
    nowhere = tmp_path / "nothing"
    assert local_zone({"TZ": "Europe/Berlin"}, link) == ZoneInfo("Europe/Berlin")
    assert local_zone({"TZ": ":Europe/Berlin"}, link) == ZoneInfo("Europe/Berlin")
    assert local_zone({}, link) == ZoneInfo("Asia/Tokyo")
    assert local_zone({}, nowhere) == ZoneInfo("UTC")
    assert local_zone({"TZ": "CET-1CEST"}, nowhere) == ZoneInfo("UTC")
