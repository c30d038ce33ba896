"""Answering one selection request from what is stored, and what is stored of it."""

from __future__ import annotations

import random
from dataclasses import replace

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.choosing import Chooser
from aico_memory.domain.behavioral.dimensions import named
from aico_memory.domain.behavioral.explanation import explain, question_for, worded
from aico_memory.domain.behavioral.learning import SkillState, note_selected
from aico_memory.domain.behavioral.policy import Choice, Policy, UserKnowledge, seed_of
from aico_memory.domain.behavioral.records import (
    APPLIED,
    NO_CONSENT,
    NO_SKILL,
    SelectionRecord,
    Trajectory,
    UserSkill,
    UserState,
)
from aico_memory.domain.behavioral.shelf import Shelf
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.skill import Catalogue, Skill
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.sealer import Sealer
from services.behavioral.tastes import Tastes


def request_id_of(event: Event) -> str:
    """The request's own id, else its event's."""
    return event.message.request_id or str(event.event_id)


class Selector:
    """Chooses by the configured policy, or by the fixed one where the user has not consented to learning."""

    def __init__(self, catalogue: Catalogue, policy: Policy, chooser: Chooser, tastes: Tastes, seed: int) -> None:
        self._catalogue = catalogue
        self._policy = policy
        self._chooser = chooser
        self._tastes = tastes
        self._seed = seed

    def select(
        self, rows: BehavioralRows, event: Event, situation: Situation, answered_by: str, shelf: Shelf
    ) -> tuple[SelectionRecord, UserState, int]:
        """The choice for this request among base skills and the user's own, of how many; nothing is stored yet."""
        user, request_id = event.user, request_id_of(event)
        consent = rows.user(user)
        archived = rows.archived_skills(user)
        likely = shelf.likely(situation, self._chooser.weights, self._chooser.threshold)
        skills = [skill for skill in likely if skill.skill_id not in archived] if archived else likely
        rng = random.Random(seed_of(self._seed, request_id))
        if consent.behavioral:
            known = UserKnowledge(
                rows.skill_states(user),
                rows.posteriors(user, situation.bucket),
                rows.preference(user, situation.bucket),
                consent.feedback_count,
                situation,
                self._tastes.of(rows, user, consent, shelf) if self._policy.sees_all else None,
            )
            choice = self._chooser.choose(skills, self._policy, known, rng)
        else:
            # What a person has put aside stays aside; skills of their own are learned ones, and wait for consent.
            base = [skill for skill in self._catalogue if skill.skill_id not in archived]
            choice = self._chooser.choose_fixed(base, UserKnowledge(situation=situation), rng)
            # How the person felt, and about what they asked, is kept with consent only, and told as it is kept.
            situation = Situation("", "", "")
        record = SelectionRecord(
            user=user,
            request_id=request_id,
            event_id=event.event_id,
            at_us=event.message.timestamp or event.occurred_us,
            bucket=situation.bucket,
            intent=situation.intent,
            sentiment=situation.sentiment,
            time_of_day=situation.time_of_day,
            outcome=_outcome(choice, consent.behavioral),
            policy=choice.policy,
            explanation=explain(choice),
            question=question_for(choice),
            answered_by=answered_by,
        )
        return _with_chosen(record, choice), consent, len(choice.candidates)

    def answer(self, record: SelectionRecord, shelf: Shelf) -> behavioral_pb2.SkillSelectionResponse:
        """The answer that a stored selection stands for, with the names that the skills at hand have by now."""
        answer = behavioral_pb2.SkillSelectionResponse(
            request_id=record.request_id,
            user_id=record.user,
            skill_id=record.skill_id,
            confidence_score=record.confidence,
            preference_alignment=record.alignment,
            is_exploration=record.is_exploration,
            shares=record.shares,
            bucket=record.bucket,
            explanation=worded(record.explanation, lambda skill_id: _name_of(skill_id, shelf)),
            question=record.question,
            policy=record.policy,
            answered_by=record.answered_by,
            outcome=record.outcome,
            score=record.score,
            propensity=record.propensity,
        )
        if (skill := shelf.named(record.skill_id)) is not None:
            answer.skill_name, answer.procedure_template = skill.name, skill.template
        return answer


def remember(rows: BehavioralRows, record: SelectionRecord, consent: UserState, event: Event, sealer: Sealer) -> None:
    """Store the selection, without its situation where there is no consent; with it also the use of the skill and on what."""
    rows.add_selection(record)
    if not (record.skill_id and consent.behavioral):
        return
    state = rows.skill_state(record.user, record.skill_id)
    rows.put_skill_state(record.user, record.skill_id, note_selected(state, record.is_exploration, record.at_us))
    conversation = event.message.conversation_id
    rows.add_trajectory(
        Trajectory(
            user=record.user,
            request_id=record.request_id,
            conversation_id=conversation,
            turn=rows.next_turn(record.user, conversation),
            skill_id=record.skill_id,
            is_exploration=record.is_exploration,
            at_us=record.at_us,
            sealed_input=sealer.seal(event.message.message_text.encode(), input_context(record.request_id)),
        )
    )


def input_context(request_id: str) -> bytes:
    """What a sealed input is bound to."""
    return b"trajectory/input\0" + request_id.encode()


def _name_of(skill_id: str, shelf: Shelf) -> str:
    """Its id where it is not at hand: deleted, or its words are gone."""
    skill = shelf.named(skill_id)
    return skill_id if skill is None else skill.name


def _outcome(choice: Choice, consents: bool) -> str:
    if choice.chosen is None:
        return NO_SKILL
    return APPLIED if consents else NO_CONSENT


def _with_chosen(record: SelectionRecord, choice: Choice) -> SelectionRecord:
    chosen = choice.chosen
    if chosen is None:
        return record
    return replace(
        record,
        skill_id=chosen.skill.skill_id,
        is_exploration=choice.is_exploration,
        confidence=chosen.confidence,
        alignment=chosen.alignment,
        score=chosen.score,
        shares=dict(chosen.shares),
        propensity=choice.propensity,
    )


def skill_message(skill: Skill, state: SkillState, status: str = "", version: int = 0) -> behavioral_pb2.Skill:
    """A skill as its user sees it."""
    return behavioral_pb2.Skill(
        skill_id=skill.skill_id,
        name=skill.name,
        type=skill.type.value,
        template=skill.template,
        intents=sorted(skill.trigger.intents),
        times_of_day=sorted(skill.trigger.times_of_day),
        sentiments=sorted(skill.trigger.sentiments),
        topics=skill.trigger.topics,
        dimensions=skill.dimensions,
        confidence=state.confidence,
        uses=state.uses,
        positive=state.positive,
        negative=state.negative,
        style=named(skill.dimensions),
        status=status,
        version=version,
    )


def own_skill_message(record: UserSkill, skill: Skill, state: SkillState) -> behavioral_pb2.Skill:
    """The same of a skill of their own, with its record and its words."""
    message = skill_message(skill, state, record.status, record.version)
    message.created_us, message.updated_us = record.created_us, record.updated_us
    return message
