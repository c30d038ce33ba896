"""Reading a user's pending experiences, and how much they resemble what was asked last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

from aico_memory.contracts.v1 import sleep_pb2, working_pb2
from aico_memory.domain.consolidation.replay import Experience
from aico_memory.domain.consolidation.run import Run
from aico_memory.errors import NotFound
from aico_memory.settings.consolidation import ConsolidationSettings
from services.consolidation.questions import Questions

Ask = Callable[[Any, str], Future[Any]]
# Similarities are told in floats of another process: what differs by less is the same.
DIGITS = 3


class Gathering:
    """Pages of experiences by user, held until they are taken."""

    def __init__(self, ask: Ask, questions: Questions, settings: ConsolidationSettings) -> None:
        self._ask = ask
        self._questions = questions
        self._settings = settings
        self._found: dict[str, list[Experience]] = {}
        self._last_of: dict[str, bytes] = {}
        self._read: set[str] = set()
        self._weighed: dict[str, int] = {}
        self._unweighed = False

    def gather(self, run: Run, user: str) -> bool:
        """Go on reading; True once all are there."""
        return self._pages(run, user) and self._importance(run, user)

    def take(self, user: str) -> list[Experience]:
        """What was found."""
        found = self._found.pop(user, [])
        self._drop(user)
        return found

    def forget(self) -> None:
        """Nobody needs any of it any more."""
        for user in list(self._found):
            self._found.pop(user)
            self._drop(user)
        self._unweighed = False

    def _drop(self, user: str) -> None:
        self._last_of.pop(user, None)
        self._read.discard(user)
        self._weighed.pop(user, None)

    def _pages(self, run: Run, user: str) -> bool:
        limit = self._settings.page_size
        while user not in self._read:
            after = self._last_of.get(user, b"")
            request = working_pb2.ExperiencesRequest(user_id=user, limit=limit, until_us=run.until_us, after_event_id=after)
            try:
                page = self._questions.poll(("experiences", user), partial(self._ask, request, user))
            except NotFound:
                # The experience the next page hangs on has just expired: from the beginning.
                self._found.pop(user, None)
                self._drop(user)
                self._questions.later(("experiences", user))
                return False
            if page is None:
                return False
            found = self._found.setdefault(user, [])
            for message in page.messages:
                # Receipts may share a microsecond; the bus's order tells them apart.
                if message.sequence < run.sequence:
                    # What was judged after the night began counts in the next one.
                    judged = message.has_feedback and message.feedback_sequence < run.sequence
                    found.append(Experience(message.event_id, message.received_at_us, has_feedback=judged))
            if page.messages and (page.cut or len(page.messages) >= limit):
                self._last_of[user] = page.messages[-1].event_id
            else:
                self._read.add(user)
        return True

    def _importance(self, run: Run, user: str) -> bool:
        found = self._found.setdefault(user, [])
        key = ("importance", user)
        while self._settings.importance_questions and (done := self._weighed.get(user, 0)) < len(found):
            if self._unweighed or self._questions.failed(key) >= self._settings.ask_times:
                # It orders the work and loses nothing: the night goes on without, and asks for nobody else.
                self._unweighed = True
                break
            some = found[done : done + self._settings.page_size]
            page = self._questions.poll(key, partial(self._ask, self._importance_of(run, user, some), user))
            if page is None:
                return False
            if not page.questions:
                # Nothing has been asked yet: nothing resembles it.
                break
            for place, value in enumerate(page.importance[: len(some)]):
                found[done + place] = replace(found[done + place], importance=round(value, DIGITS))
            self._weighed[user] = done + len(some)
        return True

    def _importance_of(self, run: Run, user: str, some: Sequence[Experience]) -> sleep_pb2.ImportanceRequest:
        """What was asked after the night began does not count: how much of it is known already is a matter of speed."""
        return sleep_pb2.ImportanceRequest(
            user_id=user,
            event_ids=[one.event_id for one in some],
            questions=self._settings.importance_questions,
            before=run.sequence,
        )
