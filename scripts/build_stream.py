"""Turn an authored scenario into a recorded stream: `python scripts/build_stream.py SCENARIO.yaml [-o FILE]`.

A scenario is YAML (or JSON lines: the first line the heading, then one step a line):
`name, description, start` (ISO 8601 with zone), `seed`, `steps`. A step is a mapping with one verb:

* `message {label, user, session, role, name, content, said, metadata, group, project, zone}`
* `consent {user, behavioral}` · `select {label, user, session, message, intent, sentiment, time_of_day, topic}`
* `feedback {label, user, message: <label>, skill or of: <label of a select>, reward, reason, free_text}`
* `suggest {user, suggestion, type, value, reason}` · `decide {user, suggestion, outcome, reason}`
* `outcome {user, suggestion, type, value, outcome, reason, evidence}`
* `update {user, of: <label of a message>, text}` · `invalidate {user, of, reason}`
* `repeat {of: <label>}`: the same event once more
* `refused {identity, role, <verb>: {…}, expect: <code>}`: published by somebody who may not
  (no role: a stranger whose key the bus does not know)
* `raw {hex, expect: <code>}`: a frame as it stands
* `mark {flush: true | sleep: true | restart: <process> | advance: 2d}`

Every step may carry `after: 90s`, the time since the step before (default 30 s).
Event ids derive from the scenario's name, the step's number and its time.
"""

from __future__ import annotations

import argparse
import json
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from google.protobuf.message import Message

from aico_memory.cli.clock import parse_duration
from aico_memory.clock import parse_time, to_us
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.recording import create_recording, new_header, stream_event_id
from aico_memory.contracts.v1 import behavioral_pb2, outcomes_pb2, recording_pb2, semantic_pb2, working_pb2
from aico_memory.ids import derive_id

DEFAULT_PAUSE = "30s"
DEFAULT_SENDER = "default"
Step = Mapping[str, Any]


class Scenario:
    """Builds the frames of one scenario, step by step."""

    def __init__(self, heading: Mapping[str, Any], steps: Sequence[Step]) -> None:
        self.name = str(heading["name"])
        self.start_us = to_us(parse_time(str(heading["start"])))
        self.seed = int(heading.get("seed", 0))
        self.description = str(heading.get("description", "")).strip()
        self.identities: dict[str, str] = {}
        self._now_us = self.start_us
        self.steps = steps
        self._labelled: dict[str, recording_pb2.RecordedFrame] = {}
        self._verbs: dict[str, Callable[[Step], Message]] = {
            "message": self._message, "consent": self._consent, "select": self._select, "feedback": self._feedback,
            "update": self._update, "invalidate": self._invalidate, "suggest": self._suggest, "decide": self._decide,
            "outcome": self._outcome,
        }  # fmt: skip

    def frames(self) -> list[recording_pb2.RecordedFrame]:
        """All frames in order."""
        return [self._frame(number, step) for number, step in enumerate(self.steps, 1)]

    def _frame(self, number: int, step: Step) -> recording_pb2.RecordedFrame:
        verb, body = self._opened(step)
        pause = step.get("after", body.get("after", "0s" if number == 1 or verb == "mark" else DEFAULT_PAUSE))
        self._now_us += to_microseconds(str(pause))
        frame = recording_pb2.RecordedFrame(at_us=self._now_us, label=str(body.get("label", "")))
        if verb == "mark":
            frame.mark.CopyFrom(self._mark(body))
        elif verb == "raw":
            frame.raw = bytes.fromhex(str(body["hex"]))
            frame.expect = str(body["expect"])
        elif verb == "repeat":
            frame = self._repeated(body)
        elif verb == "refused":
            inner, content = self._opened({key: value for key, value in body.items() if key in self._verbs})
            self._record(frame, number, inner, content)
            frame.sender, frame.expect = str(body["identity"]), str(body["expect"])
            frame.label = frame.label or str(content.get("label", ""))
            self.identities[frame.sender] = str(body.get("role", body["identity"]))
        elif verb in self._verbs:
            self._record(frame, number, verb, body)
        else:
            raise SystemExit(f"{self.name}, step {number}: no verb {verb!r}")
        return frame

    def _opened(self, step: Step) -> tuple[str, Step]:
        verbs = [key for key in step if key != "after"]
        if len(verbs) != 1:
            raise SystemExit(f"{self.name}: a step needs exactly one verb, this has {verbs}")
        return verbs[0], step[verbs[0]]

    def _record(self, frame: recording_pb2.RecordedFrame, number: int, verb: str, body: Step) -> None:
        message = self._verbs[verb](body)
        event_id = stream_event_id(self.name, number, self._now_us)
        made = make_record(message, event_id=event_id, occurred_us=self._now_us, user=str(body["user"]))
        frame.sender = DEFAULT_SENDER
        frame.record.CopyFrom(
            recording_pb2.RecordedRecord(event_id=made.event_id, topic=made.topic, user=made.user, envelope=made.envelope)
        )
        if frame.label:
            self._labelled[frame.label] = frame

    def _repeated(self, body: Step) -> recording_pb2.RecordedFrame:
        frame = recording_pb2.RecordedFrame()
        frame.CopyFrom(self._labelled[str(body["of"])])
        frame.at_us = self._now_us
        frame.label = f"{body['of']} again"
        return frame

    def _message(self, body: Step) -> Message:
        return working_pb2.Message(
            user_id=body["user"],
            session_id=body.get("session", ""),
            group_id=body.get("group", ""),
            project_id=body.get("project", ""),
            role=body["role"],
            content=body["content"],
            name=body.get("name", ""),
            said_at_us=to_us(parse_time(str(body["said"]))) if "said" in body else self._now_us,
            metadata_json=json.dumps(body["metadata"], ensure_ascii=False, sort_keys=True) if "metadata" in body else "",
            zone=body.get("zone", ""),
        )

    def _consent(self, body: Step) -> Message:
        return behavioral_pb2.ConsentChanged(user_id=body["user"], behavioral=bool(body["behavioral"]))

    def _select(self, body: Step) -> Message:
        return behavioral_pb2.SkillSelectionRequest(
            user_id=body["user"],
            conversation_id=body.get("session", ""),
            message_text=body["message"],
            timestamp=self._now_us,
            request_id=self._request(str(body["label"])),
            intent=body.get("intent", ""),
            sentiment=body.get("sentiment", ""),
            time_of_day=body.get("time_of_day", ""),
            topic_text=body.get("topic", ""),
        )

    def _feedback(self, body: Step) -> Message:
        return behavioral_pb2.FeedbackEvent(
            user_id=body["user"],
            message_id=str(self._event(str(body["message"]))),
            # Left empty it means the skill that was chosen for the request.
            skill_id=body.get("skill", ""),
            reward=int(body["reward"]),
            reason=body.get("reason", ""),
            free_text=body.get("free_text", ""),
            timestamp=self._now_us,
            request_id=self._request(str(body["of"])) if "of" in body else "",
        )

    def _suggest(self, body: Step) -> Message:
        return outcomes_pb2.SuggestionMade(
            user_id=body["user"],
            suggestion_id=body["suggestion"],
            type=body["type"],
            value=body.get("value", ""),
            reason=body.get("reason", ""),
            created_us=self._now_us,
        )

    def _decide(self, body: Step) -> Message:
        return outcomes_pb2.DecideSuggestion(
            user_id=body["user"],
            suggestion_id=body["suggestion"],
            outcome=body["outcome"],
            reason=body.get("reason", ""),
            decided_us=self._now_us,
        )

    def _outcome(self, body: Step) -> Message:
        return behavioral_pb2.OutcomeRecorded(
            user_id=body["user"],
            suggestion_id=body["suggestion"],
            type=body["type"],
            value=body.get("value", ""),
            outcome=body["outcome"],
            reason=body.get("reason", ""),
            evidence=body.get("evidence", ()),
            created_us=self._now_us,
            decided_us=self._now_us,
        )

    def _update(self, body: Step) -> Message:
        return semantic_pb2.UpdateMemory(user_id=body["user"], memory_id=self._memory(str(body["of"])), text=body["text"])

    def _invalidate(self, body: Step) -> Message:
        memory_id = self._memory(str(body["of"]))
        return semantic_pb2.InvalidateMemory(user_id=body["user"], memory_id=memory_id, reason=body.get("reason", ""))

    def _mark(self, body: Step) -> recording_pb2.Mark:
        mark = recording_pb2.Mark()
        if "restart" in body:
            mark.restart = str(body["restart"])
        elif "advance" in body:
            mark.advance_us = to_microseconds(str(body["advance"]))
            self._now_us += mark.advance_us
        elif "sleep" in body:
            users = body["sleep"].get("users", []) if isinstance(body["sleep"], Mapping) else []
            mark.sleep.CopyFrom(recording_pb2.SleepMark(user_ids=users))
        else:
            mark.flush = bool(body["flush"])
        return mark

    def _event(self, label: str) -> uuid.UUID:
        return uuid.UUID(bytes=self._labelled[label].record.event_id)

    def _memory(self, label: str) -> str:
        """Id of the episodic record that a message became."""
        return str(derive_id(self._event(label), "record"))

    def _request(self, label: str) -> str:
        return f"{self.name}/{label}"


def to_microseconds(text: str) -> int:
    """Microseconds of a duration like `90s` or `2d`."""
    return round(parse_duration(text).total_seconds() * 1_000_000)


def read_scenario(path: Path) -> Scenario:
    """A scenario from YAML or JSON lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        heading, *steps = [json.loads(line) for line in text.splitlines() if line.strip()]
        return Scenario(heading, steps)
    content = yaml.safe_load(text)
    return Scenario(content, content["steps"])


def build(source: Path, target: Path) -> int:
    """Write the stream of a scenario's file; the number of its frames."""
    return write_stream(read_scenario(source), target)


def write_stream(scenario: Scenario, target: Path) -> int:
    """Write the stream of a scenario; the number of its frames."""
    frames = scenario.frames()
    header = new_header(scenario.name, scenario.start_us, seed=scenario.seed, description=scenario.description)
    for name, role in sorted(scenario.identities.items()):
        header.identities.add(name=name, role="" if role == "stranger" else role)
    with create_recording(target, header) as writer:
        for frame in frames:
            writer.append(frame)
    return len(frames)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="+", type=Path, help="scenario files")
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: the scenario's name, with .stream)")
    options = parser.parse_args()
    for source in options.scenarios:
        target = options.output or source.with_suffix(".stream")
        sys.stderr.write(f"{target}: {build(source, target)} frames\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
