"""What can be asked of the behavioral store; answered from what is committed, outside of the consumer's thread."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress

from google.protobuf.message import Message

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.dimensions import DIMENSIONS, NEUTRAL_VALUE, named
from aico_memory.domain.behavioral.guidance import GuidanceFigures, Liking, guidance_of
from aico_memory.domain.behavioral.learning import SkillState
from aico_memory.domain.behavioral.policies import POLICIES
from aico_memory.domain.behavioral.proposals import Fragments
from aico_memory.domain.behavioral.records import APPLIED, FeedbackRecord, UserSkill
from aico_memory.domain.behavioral.shelf import Shelf
from aico_memory.domain.behavioral.skill import Catalogue, Skill
from aico_memory.errors import AccessDenied, InvalidMessage, KeyDestroyed, NotFound, WrongKey
from aico_memory.runtime.paging import fitting, half_of
from aico_memory.runtime.ports import Ports, RequestHandler
from aico_memory.settings.behavioral import BehavioralSettings
from aico_memory.stores.behavioral.port import BehavioralRows, BehavioralStore
from aico_memory.vault.sealer import Sealer
from services.behavioral.export import export_page
from services.behavioral.feedback import answer_of, text_context
from services.behavioral.own_skills import current, evidence_of, opened
from services.behavioral.responses import response_context
from services.behavioral.selection import Selector, input_context, own_skill_message, skill_message
from services.behavioral.shelves import Shelves
from services.behavioral.stating import check_bucket
from services.behavioral.tastes import Tastes

DEFAULT_LIMIT, MOST = 100, 1000
# Characters of a message by which its selection is known again.
BEGINNING = 200


class Questions:
    """The ephemeral requests; `tastes` is an instance of its own, since these come in other threads."""

    def __init__(
        self, store: BehavioralStore, catalogue: Catalogue, selector: Selector, tastes: Callable[[], Tastes],
        settings: BehavioralSettings, sealer_of: Callable[[str], Sealer], most_bytes: int, fragments: Fragments,
    ) -> None:  # fmt: skip
        self._most_bytes = most_bytes
        self._fragments = fragments
        self._store = store
        self._catalogue = catalogue
        self._selector = selector
        self._tastes = tastes
        self._settings = settings
        self._sealer_of = sealer_of

    def handlers(self) -> Mapping[str, RequestHandler]:
        """By topic."""
        asked: Mapping[type[Message], RequestHandler] = {
            behavioral_pb2.SkillsRequest: self._skills,
            behavioral_pb2.PreferencesRequest: self._preferences,
            behavioral_pb2.StyleGuidanceRequest: self._guidance,
            behavioral_pb2.FeedbackAnswerRequest: self._feedback_answer,
            behavioral_pb2.SelectionAnswerRequest: self._selection_answer,
            behavioral_pb2.ExplainSelectionRequest: self._explain,
            behavioral_pb2.SelectionListRequest: self._selection_list,
            behavioral_pb2.PoliciesRequest: self._policies,
            behavioral_pb2.FeedbackListRequest: self._feedback_list,
            behavioral_pb2.BehaviorFiguresRequest: self._figures,
            behavioral_pb2.BehaviorExportRequest: self._export,
        }
        return {topic_of(kind).name: handler for kind, handler in asked.items()}

    def _skills(self, event: Event, ports: Ports) -> Message:
        with self._store.reading() as rows:
            states = rows.skill_states(event.user)
            archived = rows.archived_skills(event.user)
            own = current(rows, event.user)
        page = behavioral_pb2.SkillsPage()
        for skill in self._catalogue:
            status = "archived" if skill.skill_id in archived else ""
            page.skills.append(skill_message(skill, states.get(skill.skill_id, SkillState()), status))
        # Where the key is destroyed nothing of their own can be read; the base skills stand.
        with suppress(KeyDestroyed):
            page.skills.extend([self._told(one, states.get(one.skill_id, SkillState())) for one in own.values()])
        return page

    def _told(self, record: UserSkill, state: SkillState) -> behavioral_pb2.Skill:
        sealer = self._sealer_of(record.user)
        message = own_skill_message(record, opened(record, sealer), state)
        message.evidence = evidence_of(record, sealer)
        return message

    def _preferences(self, event: Event, ports: Ports) -> Message:
        if event.message.HasField("bucket"):
            check_bucket(event.message.bucket)
        with self._store.reading() as rows:
            found = rows.preferences(event.user)
            tastes = self._tastes()
            shelf = Shelves(self._catalogue, self._sealer_of, 1).of(rows, event.user)
            posterior = tastes.of(rows, event.user, rows.user(event.user), shelf)
            prior = tastes.prior(rows).version
            # A style that was stated before statements were kept stands here alone.
            before = named(rows.stated_style(event.user).dimensions)
            said = {name: value for name, value in before.items() if value != NEUTRAL_VALUE}
            said |= {one.dimension: one.value for one in rows.statements(event.user) if one.bucket is None}
        wanted = event.message.bucket if event.message.HasField("bucket") else None
        answer = behavioral_pb2.Preferences(prior=prior)
        for bucket, one in found.items():
            if wanted is None or bucket == wanted:
                answer.buckets.add(bucket=bucket, dimensions=one.dimensions, updates=one.updates, style=named(one.dimensions))
        for name, slope, deviation in zip(DIMENSIONS, *posterior.taste(), strict=True):
            answer.taste.add(dimension=name, slope=float(slope), deviation=float(deviation), stated=said.get(name))
        return answer

    def _guidance(self, event: Event, ports: Ports) -> Message:
        with self._store.reading() as rows:
            state = rows.user(event.user)
            if not state.behavioral:
                return behavioral_pb2.StyleGuidance()
            said = named(rows.stated_style(event.user).dimensions)
            shelf = Shelves(self._catalogue, self._sealer_of, 1).of(rows, event.user)
            posterior = self._tastes().of(rows, event.user, state, shelf)
        slopes, deviations = posterior.taste()
        likings = zip(slopes.tolist(), deviations.tolist(), posterior.prior_taste.tolist(), strict=True)
        learned = {name: Liking(*liking) for name, liking in zip(DIMENSIONS, likings, strict=True)}
        found = guidance_of(said, learned, posterior.thumbs, self._fragments, GuidanceFigures())
        return behavioral_pb2.StyleGuidance(sentences=found)

    def _feedback_answer(self, event: Event, ports: Ports) -> Message:
        event_id = event.message.event_id
        with self._store.reading() as rows:
            found = rows.feedback(uuid.UUID(bytes=event_id)) if len(event_id) == 16 else None
        if found is None or found.user != event.user:
            raise NotFound("No feedback of this user stands under this event id (yet)")
        return answer_of(found)

    def _selection_answer(self, event: Event, ports: Ports) -> Message:
        return self._stored(event.user, event.message.request_id)

    def _explain(self, event: Event, ports: Ports) -> Message:
        named_user = event.user or event.message.user_id
        if named_user and event.message.user_id not in {"", named_user}:
            raise AccessDenied("The request names another user than its header")
        with self._store.reading() as rows:
            users = [named_user] if named_user else rows.users_of_request(event.message.request_id)
        if len(users) > 1:
            raise InvalidMessage("Several users have a selection of this request id", "Name the user.")
        return self._stored(users[0] if users else "", event.message.request_id)

    def _stored(self, user: str, request_id: str) -> Message:
        with self._store.reading() as rows:
            found = rows.selection(user, request_id)
            if found is None:
                raise NotFound("No selection stands under this request id (yet)")
            own = self._own(rows, user)
        return self._selector.answer(found, Shelf.of(tuple(self._catalogue), own))

    def _own(self, rows: BehavioralRows, user: str) -> list[Skill]:
        """The person's own skills, whatever their status; none where the key is destroyed."""
        try:
            return [opened(one, self._sealer_of(user)) for one in current(rows, user).values()]
        except KeyDestroyed:
            return []

    def _selection_list(self, event: Event, ports: Ports) -> Message:
        user, after = event.user, event.message.after
        with self._store.reading() as rows:
            if after and rows.selection(user, after) is None:
                raise NotFound("The selection that the list is to go on after is not there (any more)", "Begin anew.")
            names = {skill.skill_id: skill.name for skill in (*self._catalogue, *self._own(rows, user))}
            return fitting(
                lambda lines: self._selection_page(rows, event, lines, names), limit_of(event.message.limit), self._most_bytes
            )

    def _selection_page(self, rows: BehavioralRows, event: Event, limit: int, names: Mapping[str, str]
                        ) -> behavioral_pb2.SelectionList:  # fmt: skip
        user = event.user
        newest = rows.selections_of(user, event.message.skill_id, limit + 1, event.message.after)
        uses = {one.request_id: rows.trajectory(user, one.request_id) for one in newest[:limit] if one.outcome == APPLIED}
        answer = behavioral_pb2.SelectionList(next=newest[limit - 1].request_id if len(newest) > limit else "")
        for one in newest[:limit]:
            use = uses.get(one.request_id)
            answer.selections.add(
                request_id=one.request_id, at_us=one.at_us, outcome=one.outcome, skill_id=one.skill_id,
                skill_name=names.get(one.skill_id, ""), intent=one.intent, sentiment=one.sentiment,
                time_of_day=one.time_of_day, bucket=one.bucket, score=one.score, is_exploration=one.is_exploration,
                reward=use.reward if use else None,
                message_text=self._beginning(user, use.sealed_input, input_context(use.request_id)) if use else "",
                response_text=self._beginning(user, use.sealed_response, response_context(use.request_id)) if use else "",
            )  # fmt: skip
        return answer

    def _beginning(self, user: str, sealed: bytes | None, context: bytes) -> str:
        text = self._opened(user, sealed, context)
        return text if len(text) <= BEGINNING else text[: BEGINNING - 1] + "…"

    def _opened(self, user: str, sealed: bytes | None, context: bytes) -> str:
        try:
            return self._sealer_of(user).open(sealed, context).decode() if sealed else ""
        except (KeyDestroyed, WrongKey):
            return ""

    def _policies(self, event: Event, ports: Ports) -> Message:
        with self._store.reading() as rows:
            answer = behavioral_pb2.Policies(prior=self._tastes().prior(rows).version)
            for prior in rows.priors():
                answer.priors.add(
                    version=prior.version, fitted_us=prior.fitted_us, users=prior.users, thumbs=prior.thumbs,
                    status=prior.status, evaluation_json=json.dumps(prior.evaluation, sort_keys=True),
                )  # fmt: skip
        for name, description in POLICIES.items():
            answer.policies.add(name=name, description=description, in_use=name == self._settings.policy)
        return answer

    def _feedback_list(self, event: Event, ports: Ports) -> Message:
        after = event.message.after
        with self._store.reading() as rows:
            behind = rows.feedback(uuid.UUID(bytes=after)) if len(after) == 16 else None
            if after and (behind is None or behind.user != event.user):
                raise NotFound("The feedback that the list is to go on after is not there (any more)", "Begin anew.")
            return fitting(
                lambda lines: self._feedback_page(rows, event.user, lines, behind), limit_of(event.message.limit),
                self._most_bytes,
            )  # fmt: skip

    def _feedback_page(self, rows: BehavioralRows, user: str, limit: int, behind: FeedbackRecord | None
                       ) -> behavioral_pb2.FeedbackList:  # fmt: skip
        # What was given without consent left an answer behind, and nothing else that could be listed.
        newest = rows.newest_feedback(user, limit + 1, behind.event_id if behind else None)
        answer = behavioral_pb2.FeedbackList(next=newest[limit - 1].event_id.bytes if len(newest) > limit else b"")
        for one in newest[:limit]:
            answer.feedback.add(
                event_id=one.event_id.bytes, message_id=one.message_id, skill_id=one.skill_id, reward=one.reward,
                reason=one.reason, free_text=self._opened(user, one.sealed_text, text_context(one.event_id.bytes)),
                at_us=one.at_us, bucket=one.bucket, request_id=one.request_id, is_exploration=one.is_exploration,
                undone=one.undone_us is not None, categories=one.categories or {}, classified_by=one.classified_by,
            )  # fmt: skip
        return answer

    def _export(self, event: Event, ports: Ports) -> Message:
        limit = min(event.message.limit or MOST, MOST)
        with self._store.reading() as rows:
            page = fitting(
                lambda lines: export_page(rows, event.user, event.message.after, lines, self._sealer_of),
                limit, self._most_bytes,
            )  # fmt: skip
        return behavioral_pb2.BehaviorExport(lines=page.lines, next=page.next)

    def _figures(self, event: Event, ports: Ports) -> Message:
        answer, size, last_us = behavioral_pb2.BehaviorFigures(), 0, 0
        until = event.message.until_us or 2**62
        with self._store.reading() as rows:
            for one in rows.hours(event.message.from_us, until):
                if size > half_of(self._most_bytes) and one.hour_us > last_us:
                    answer.next_us = one.hour_us
                    break
                figure = answer.figures.add(
                    hour_us=one.hour_us, skill_id=one.skill_id, what=one.what, count=one.count, total=one.total,
                    largest=one.largest,
                )  # fmt: skip
                size, last_us = size + figure.ByteSize(), one.hour_us
        return answer


def limit_of(asked: int) -> int:
    """How many entries a page has at most; 0 asks for the usual number."""
    return min(asked or DEFAULT_LIMIT, MOST)
