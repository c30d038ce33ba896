"""Publishing a recorded stream again: same events, same identities, same moments of the deployment's clock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import zmq

from aico_memory.bus.link import Link, read_address
from aico_memory.bus.raw_frame import send_raw_frame
from aico_memory.clock import SharedManualClock, from_us
from aico_memory.contracts.recording import stream_event_id
from aico_memory.contracts.v1 import recording_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import AicoMemoryError, BusUnavailable, InvalidMessage, NotAuthorised, NotFound
from aico_memory.paths import Home
from aico_memory.runtime.clocks import MANUAL, clock_for, clock_mode
from aico_memory.runtime.links import OPERATOR, make_link, open_link
from aico_memory.runtime.processes import restart_process
from aico_memory.runtime.settling import quiet, schedule_caught_up
from aico_memory.runtime.sleeping import await_sleep, start_sleep
from aico_memory.runtime.waiting import answered, until
from aico_memory.vault.curve_keys import IdentityKeys, add_identity, list_identities, load_identity

DEFAULT = "default"
# A replay is not in a hurry: what it waits for has this long, and a frame that was given up would make another stream of it.
REST_SECONDS = 120.0
# A night has as long as all that is waited for may take.
SLEEP_SECONDS = 10 * REST_SECONDS
# How long one attempt to connect is waited for before its reason is looked at.
ATTEMPT_SECONDS = 2.0
# Longest wait for the broker before the first frame.
REACH_SECONDS = 30.0


@dataclass(slots=True)
class PlaybackAccount:
    """What came of a replay."""

    frames: int = 0
    published: int = 0
    refused: int = 0
    marks: int = 0
    # Frames that ended otherwise than the stream says.
    unexpected: list[str] = field(default_factory=list)


class Player:
    """Plays frames into a running deployment.

    `speed`: None as fast as it goes, a factor of the original pace (1.0), or with `step` waits before each frame.
    With a manual clock the deployment's time is that of each frame, whatever the speed.
    """

    def __init__(
        self,
        home: Home,
        header: recording_pb2.RecordingHeader,
        *,
        speed: float | None = None,
        step: Callable[[recording_pb2.RecordedFrame], None] | None = None,
        progressed: Callable[[int], None] = lambda done: None,
    ) -> None:
        self._home = home
        self._header = header
        self._speed = speed
        self._step = step
        self._progressed = progressed
        self._clock = clock_for(home)
        self._hands = SharedManualClock(home.manual_clock) if clock_mode(home) == MANUAL else None
        self._links: dict[str, Link] = {}
        self._open = ExitStack()
        self._pending: list[tuple[recording_pb2.RecordedFrame, Future[Any]]] = []
        self._next_firing_us = 0
        self.account = PlaybackAccount()

    def play(self, frames: Iterable[recording_pb2.RecordedFrame]) -> PlaybackAccount:
        """Publish and honour every frame, and wait until the deployment rests."""
        with self._open:
            self._admit()
            self._operator = self._open.enter_context(open_link(self._home, OPERATOR, REACH_SECONDS))
            if self._hands is not None and self._hands.now_us() > self._header.clock_start_us:
                self._hands.set(from_us(self._header.clock_start_us))
            self._reach(self._header.clock_start_us)
            started, first_us = monotonic(), None
            for frame in frames:
                first_us = frame.at_us if first_us is None else first_us
                self._pace(started, frame.at_us - first_us)
                if self._step is not None:
                    self._step(frame)
                self._reach(frame.at_us)
                self._play(frame)
                self.account.frames += 1
                self._progressed(self.account.frames)
            self._settle()
            quiet(self._operator, REST_SECONDS)
        return self.account

    def _pace(self, started: float, offset_us: int) -> None:
        if self._speed:
            wait = started + offset_us / 1e6 / self._speed - monotonic()
            if wait > 0:
                threading.Event().wait(wait)

    def _reach(self, at_us: int) -> None:
        """Turn a manual clock to this moment; nothing published before may be stamped with it."""
        if self._hands is None or at_us <= self._hands.now_us():
            return
        self._settle()
        due = at_us >= self._next_firing_us
        if due:
            # Jobs that are due by then fire before anything else happens, and after all that was before: in every
            # replay alike.
            quiet(self._operator, REST_SECONDS)
        self._hands.set(from_us(at_us))
        if due:
            self._next_firing_us = schedule_caught_up(self._operator, at_us, REST_SECONDS)
            quiet(self._operator, REST_SECONDS)

    def _play(self, frame: recording_pb2.RecordedFrame) -> None:
        what = frame.WhichOneof("what")
        if what == "mark":
            self._settle()
            self._mark(frame)
            self.account.marks += 1
        elif what == "raw":
            self._settle()
            keys = load_identity(self._home, DEFAULT)
            self._compare(frame, send_raw_frame(read_address(self._home), keys, frame.raw, REST_SECONDS))
        elif what == "record":
            self._publish(frame)
        else:
            raise InvalidMessage(f"Frame {frame.ordinal} holds nothing that can be played")

    def _publish(self, frame: recording_pb2.RecordedFrame) -> None:
        recorded = frame.record
        record = OutgoingRecord(recorded.event_id, recorded.topic, recorded.user, recorded.envelope)
        try:
            link = self._link(frame.sender or DEFAULT)
            self._pending.append((frame, link.publish([record])[0]))
        except AicoMemoryError as error:
            self._compare(frame, error.code)
        if frame.expect:
            self._settle()

    def _settle(self) -> None:
        """Hear of everything that was published so far."""
        for frame, future in self._pending:
            try:
                answered(future, REST_SECONDS, f"Frame {frame.ordinal}")
                self._compare(frame, "")
            except AicoMemoryError as error:
                self._compare(frame, error.code)
        self._pending.clear()

    def _compare(self, frame: recording_pb2.RecordedFrame, code: str) -> None:
        if code:
            self.account.refused += 1
        else:
            self.account.published += 1
        if code != frame.expect:
            said = f"refused ({code})" if code else "accepted"
            expected = f"refused ({frame.expect})" if frame.expect else "accepted"
            self.account.unexpected.append(f"frame {frame.ordinal} {frame.label}: {said} instead of {expected}")

    def _mark(self, frame: recording_pb2.RecordedFrame) -> None:
        mark = frame.mark
        kind = mark.WhichOneof("what")
        if kind == "flush":
            quiet(self._operator, REST_SECONDS)
        elif kind == "restart":
            quiet(self._operator, REST_SECONDS)
            restart_process(self._home, mark.restart, REST_SECONDS)
            until(lambda: True if self._operator.connected else None, REST_SECONDS, "The bus is not back")
        elif kind == "advance_us":
            self._reach(self._clock.now_us() + mark.advance_us)
        elif kind == "sleep":
            quiet(self._operator, REST_SECONDS)
            event_id = stream_event_id(self._header.name, frame.ordinal, frame.at_us)
            firing = start_sleep(self._operator, event_id, self._clock.now_us(), mark.sleep.user_ids, mark.sleep.phases)
            await_sleep(self._operator, firing, SLEEP_SECONDS)
            quiet(self._operator, REST_SECONDS)

    def _admit(self) -> None:
        """Make the identities that the stream publishes as and this home does not have."""
        known = {entry.name for entry in list_identities(self._home)}
        for identity in self._header.identities:
            if identity.role and identity.name not in known:
                add_identity(self._home, identity.name, identity.role)

    def _link(self, sender: str) -> Link:
        if sender not in self._links:
            link = self._open.enter_context(make_link(self._home, self._keys(sender)))
            known = sender in {entry.name for entry in list_identities(self._home)}

            def started() -> bool | None:
                try:
                    link.start(ATTEMPT_SECONDS)
                except NotAuthorised:
                    # A key that was added a moment ago is let in when the broker has read the list.
                    if known:
                        return None
                    raise
                except BusUnavailable:
                    # It runs, the operator is connected: it is busy, or just starting again.
                    return None
                return True

            until(started, REST_SECONDS, f"The identity {sender} is not let in", step=0.1)
            self._links[sender] = link
        return self._links[sender]

    def _keys(self, sender: str) -> IdentityKeys:
        try:
            return load_identity(self._home, sender)
        except (NotAuthorised, NotFound):
            if any(identity.name == sender and not identity.role for identity in self._header.identities):
                # A stranger: the stream says that it is refused.
                return IdentityKeys(sender, *zmq.curve_keypair())
            return load_identity(self._home, DEFAULT)
