"""What the night does: texts are sorted step by step, then reasons, the common prior and proposals in one go."""

from __future__ import annotations

from time import perf_counter

from aico_memory.contracts.consumer_state import ConsumerTransaction
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.proposals import Fragments, ProposalFigures
from aico_memory.domain.behavioral.refinement import RefinementFigures
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.errors import KeyDestroyed
from aico_memory.runtime.ports import Ports
from aico_memory.stores.behavioral.port import BehavioralRows
from services.behavioral.adjusting import position_of
from services.behavioral.emitting import emit, emit_finished
from services.behavioral.measuring import FITTED, Measuring
from services.behavioral.nightly import run_batch
from services.behavioral.proposing import propose
from services.behavioral.refining import refine
from services.behavioral.tastes import Tastes
from services.behavioral.texts import FeedbackTexts, Step

CLASSIFY = topic_of(behavioral_pb2.ClassifyFeedback).name
LEARN_NOW = topic_of(behavioral_pb2.LearnNow).name
LEARN = topic_of(behavioral_pb2.Learn).name
TOPICS = (CLASSIFY, LEARN_NOW, LEARN)


class Nights:
    """Used by the consumer's thread."""

    def __init__(
        self, ports: Ports, texts: FeedbackTexts, tastes: Tastes, catalogue: Catalogue, fragments: Fragments,
        measuring: Measuring,
    ) -> None:  # fmt: skip
        self._ports = ports
        self._settings = ports.settings.behavioral
        self._texts = texts
        self._tastes = tastes
        self._catalogue = catalogue
        self._fragments = fragments
        self._measuring = measuring
        self._proposing = ProposalFigures(**self._settings.proposals.model_dump())
        threshold = self._settings.feedback_text.threshold
        self._refining = RefinementFigures(**self._settings.refinements.model_dump(), text_threshold=threshold)

    def classify(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> None:
        """One step; where texts are left the next one follows as an event of its own, so that people are served between."""
        step = self._sorted(rows, event)
        classified, moved = event.message.classified + step.classified, event.message.moved + step.moved
        if step.left:
            self._go_on(transaction, event, event.message.firing_id, classified, moved)
        else:
            emit_finished(transaction, event, f"{classified} texts sorted, {moved} moved a preference")

    def learn(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> behavioral_pb2.LearnReport:
        """The nightly batch: texts that wait, reasons, the common prior, proposals."""
        started = perf_counter()
        step = self._sorted(rows, event)
        if step.left:
            self._go_on(transaction, event, "", 0, 0)
        fitted = position_of(rows)
        seen = max(fitted, rows.batch_position())
        report = run_batch(
            rows, self._tastes, self._catalogue, self._settings, self._ports.settings.guardrails, event.event_id,
            event.occurred_us, self._ports.log,
        )  # fmt: skip
        report.classified, report.moved_by_text, report.texts_left = step.classified, step.moved, step.left
        report.proposals, left = self._proposed(rows, event, started + self._settings.night_minutes * 60)
        told = f"{report.outcome}: {report.people} people, {report.thumbs} thumbs, {report.signals} signals"
        if left:
            told += f"; {left} people wait for the next night's proposals"
        emit_finished(transaction, event, told)
        thumbs = rows.feedback_since(fitted if report.outcome in FITTED else seen)
        rows.put_batch_position(rows.thumbs_since(seen)[1])
        self._measuring.learned(rows, report, thumbs, event.occurred_us, perf_counter() - started)
        return report

    def _proposed(self, rows: BehavioralRows, event: Event, until: float) -> tuple[int, int]:
        """Propose skills and refinements until then; how many, and how many people are left to the next night.

        Each night begins with somebody else, so that nobody is left out for good.
        """
        limit, at_us = self._settings.library.user_skills, event.occurred_us
        people = rows.taught_users()
        first = event.event_id.int % len(people) if people else 0
        made = 0
        for place, user in enumerate(people[first:] + people[:first]):
            if perf_counter() >= until:
                self._ports.log.warning("proposals cut short", people=len(people), left=len(people) - place)
                return made, len(people) - place
            try:
                sealer = self._ports.vault.users.sealer(user, create=False)
            except KeyDestroyed:
                # Nothing of theirs can be read, and none is made of what is left: the night makes nobody a key.
                continue
            made += propose(rows, user, self._catalogue, self._fragments, self._proposing, limit, sealer, at_us)
            made += refine(rows, user, self._fragments, self._refining, limit, sealer, at_us)
        return made, 0

    def _sorted(self, rows: BehavioralRows, event: Event) -> Step:
        step = self._texts.step(rows, self._catalogue, self._settings.library.signal_step, event)
        if step.classified:
            self._ports.log.info("texts sorted", texts=step.classified, moved=step.moved, left=step.left)
        return step

    def _go_on(self, transaction: ConsumerTransaction, event: Event, firing_id: str, classified: int, moved: int) -> None:
        following = behavioral_pb2.ClassifyFeedback(
            firing_id=firing_id,
            planned_at_us=event.message.planned_at_us if firing_id else 0,
            classified=classified,
            moved=moved,
        )
        emit(transaction, event, following, "next_texts")
