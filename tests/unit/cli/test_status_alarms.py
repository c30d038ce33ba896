"""What `status` and `doctor` make of the workers' accounts."""

from __future__ import annotations

from aico_memory.cli.status import alarm_words, worker_alarms


def test_a_worker_that_does_not_answer_is_an_alarm_with_its_mend() -> None:
    (alarm,) = worker_alarms({"working": {"pid": 1}, "semantic": {"error": "deadline_exceeded"}})
    assert (alarm["alarm"], alarm["process"]) == ("worker_silent", "semantic")
    assert alarm["mend"] == "aico-memory restart semantic"


def test_vectors_of_another_model_are_an_alarm_that_names_the_command_to_embed_anew() -> None:
    fits = {"semantic": {"model_mismatch": False, "fingerprint": "minilm|384|ab"}}
    assert worker_alarms(fits) == []
    (alarm,) = worker_alarms({"semantic": {"model_mismatch": True, "fingerprint": "minilm|384|ab"}})
    assert "minilm|384|ab" in alarm["detail"]
    assert "aico-memory reindex --rebuild" in alarm["mend"]


def test_an_alarm_is_one_line_whoever_raised_it() -> None:
    broker = {"alarm": "consumer_holds_retention", "consumer": "semantic", "records": 7}
    assert alarm_words(broker) == "consumer_holds_retention: consumer semantic, records 7"
    worker = {"alarm": "worker", "process": "working", "detail": "5 experiences expired", "mend": "…"}
    assert alarm_words(worker) == "worker: process working: 5 experiences expired"
    assert alarm_words({"alarm": "bus_unavailable", "detail": "Nothing listens"}) == "bus_unavailable: Nothing listens"
