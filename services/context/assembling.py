"""A context: gate, route, ask the tiers in parallel, weigh what they know, fit it into the budget, say how it came about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, replace
from time import monotonic

from google.protobuf.message import Message

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import context_pb2, semantic_pb2, working_pb2
from aico_memory.domain.context.boosting import boosted
from aico_memory.domain.context.deadlines import total_time
from aico_memory.domain.context.diversity import Dropped, eligible, gated
from aico_memory.domain.context.freshness import Applied
from aico_memory.domain.context.items import ContextItem
from aico_memory.domain.context.mood import REQUEST, Mood, Said, mood_of
from aico_memory.domain.context.placing import placed, silencing
from aico_memory.domain.context.plan import BEHAVIORAL, MODEL, SEMANTIC, WORKING, Plan
from aico_memory.domain.formation.claimed_time import zone_of
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.language.detection import certain_language
from aico_memory.domain.retrieval.budget import ELLIPSIS, HOT_SHARE, Count, Fitted, fit
from aico_memory.errors import NotFound
from aico_memory.models.token_counter import TokenCounter
from aico_memory.runtime.courtesy import Courtesy
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.context import ContextSettings
from services.context import questions
from services.context.caching import Answers, AtHand, HotTiers, Ticket
from services.context.material import Material, hot_items, material_of, readable_turns, still_said
from services.context.planning import Planning
from services.context.tables import ReadingTables
from services.context.tiers import Asked, Stopwatch, TierHealth, Tiers

# Of a tier that was not asked: it has nothing to vouch for.
NOT_ASKED = 1 << 62
# Share of the time in which it is compared what a kept answer says of how to answer; the rest is for a new one.
_TO_COMPARE = 0.5
# In which a question leaves for its tier.
_LEAVING_SECONDS = 0.0003


@dataclass(frozen=True, slots=True)
class Assembled:
    """An answer, and the items that it used."""

    answer: context_pb2.ContextAnswer
    items: tuple[ContextItem, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the tiers answered."""

    found: context_pb2.Candidates | None
    material: Material
    degraded: tuple[str, ...]
    # What the tiers had applied; None where long-term memory was not asked.
    settled: Applied | None
    mood: Mood
    # What behavioral memory said of how to answer.
    behavior: tuple[bytes, ...] = ()


class Assembling:
    """Answers context requests; holds answers only as long as nothing changes in what they rest on."""

    def __init__(
        self, link: LinkPort, settings: ContextSettings, tables: ReadingTables, counter: TokenCounter, health: TierHealth,
        answers: Answers, hot: HotTiers, clock: Clock, courtesy: Courtesy, planning: Planning,
    ) -> None:  # fmt: skip
        self._link = link
        self._settings = settings
        self._tables = tables
        self._counter = counter
        self._health = health
        self._answers = answers
        self._hot = hot
        self._clock = clock
        self._courtesy = courtesy
        self._planning = planning
        self._count: Count = counter.count
        words: LanguageTable = tables.words
        self._function_words = frozenset().union(*words.function_words.values(), ("user", "users", "s"))

    def context(self, event: Event) -> Assembled:
        """The block for a prompt and its items."""
        request: context_pb2.ContextRequest = event.message
        watch = Stopwatch()
        ticket = self._answers.ticket(request)
        kept = self._answers.kept(ticket)
        if kept is not None and self._still_said(event, request, kept.beside, watch):
            answer = context_pb2.ContextAnswer.FromString(kept.answer)
            answer.cached = True
            del answer.timings[:]
            answer.timings.extend(timings(watch))
            return Assembled(answer, kept.items)
        plan = self._planning.plan(event, request, watch, self._total(event))
        asked = self._ask(event, request, plan, watch, ticket)
        fitted, dropped = self._place(request, plan, asked.material, watch)
        answer = self._tell(request, plan, asked, fitted, [*dropped, *fitted.dropped])
        answer.timings.extend(timings(watch, asked.found.timings if asked.found is not None else ()))
        if not asked.degraded and not plan.missed:
            turns = [*_begins(asked), asked.mood.until_us]
            self._answers.keep(ticket, answer, fitted.items, asked.settled, turns, asked.behavior)
        return Assembled(answer, fitted.items)

    def _still_said(
        self, event: Event, request: context_pb2.ContextRequest, before: tuple[bytes, ...], watch: Stopwatch
    ) -> bool:
        """Whether behavioral memory says the same of how to answer as when the answer was kept: that alone is asked again."""
        if not request.patterns and not request.selection_id:
            return True
        total = self._total(event) * _TO_COMPARE
        tiers = Tiers(
            self._link, self._health, watch, total=total, reserve=min(self._settings.reserve_ms, total / 4),
            probe=self._settings.probe_ms, courtesy=self._courtesy,
        )  # fmt: skip
        said = [(asked, tiers.take(asked)) for asked in _ask_behavior(tiers, request) if asked is not None]
        if any(answer is None and asked.refused != NotFound.code for asked, answer in said):
            return False
        return _compared(answer for _, answer in said) == before

    def _total(self, event: Event) -> float:
        """Milliseconds for the whole answer."""
        allowance = (event.deadline_us - event.occurred_us) / 1000 if event.deadline_us and event.occurred_us else 0.0
        return total_time(self._settings.deadline_ms, allowance)

    def _ask(self, event: Event, request: context_pb2.ContextRequest, plan: Plan, watch: Stopwatch, ticket: Ticket) -> _Asked:
        settings = self._settings
        total = self._total(event)
        reserve = min(settings.reserve_ms, total / 4)
        tiers = Tiers(
            self._link, self._health, watch, total=total, reserve=reserve, probe=settings.probe_ms, courtesy=self._courtesy
        )
        scopes = questions.readable_scopes(request.user_id, request.group_id, request.project_id)
        # What is at hand now says nothing of another time, of which pinned constraints alone are asked.
        dated = bool(request.as_of_us or request.known_as_of_us)
        hot = None if dated else self._hot.at_hand(ticket)
        asked = None
        if plan.candidates or hot is None:
            language = certain_language(request.query, self._tables.words) or "en"
            hypotheses = (
                self._tables.routing.hypotheses(request.query, language, settings.hypotheses)
                if settings.expansion == "templates" and plan.questions
                else plan.passages
            )
            question = questions.candidates_question(
                request, plan, scopes, hypotheses, settings.hot if hot is None else None,
                max(1.0, self._embed_ms(tiers.time_for(SEMANTIC))), self._clock.now_us(),
            )  # fmt: skip
            asked = tiers.ask(SEMANTIC, SEMANTIC, question, request.user_id)
            # It is on its way before the others are made: the link's thread would wait for its turn at each of its steps.
            wait([asked.future], _LEAVING_SECONDS)
        turns = buffer = None
        minded = bool(request.session_id and plan.candidates)
        if plan.turns:
            asked_turns = questions.turns_question(request.user_id, request.session_id, plan.turns, minded)
            turns = tiers.ask(WORKING, WORKING, asked_turns, request.user_id)
        elif minded:
            buffer = tiers.ask(
                WORKING, "buffer", questions.buffer_question(request.user_id, request.session_id), request.user_id
            )
        guidance, style = _ask_behavior(tiers, request)
        found: context_pb2.Candidates | None = tiers.take(asked) if asked else None
        page = tiers.take(turns) if turns else None
        held = tiers.take(buffer) if buffer else None
        in_mind = [one.id for one in held.items] if held is not None else list(page.in_mind) if page is not None else []
        guided = tiers.take(guidance) if guidance else None
        styled = tiers.take(style) if style else None
        if found is not None and plan.candidates and (MODEL in found.degraded or found.model):
            # Of another language nobody asks it: that says nothing of the model.
            (self._health.miss if MODEL in found.degraded else self._health.answered)(MODEL)
        if found is not None and hot is None:
            edited = {one.record_id: one.text for one in found.edited}
            hot = AtHand(hot_items(found), frozenset(found.withdrawn), edited)
            if not dated:
                self._hot.keep(ticket, hot, found.settled, found.turns_us)
        degraded = [SEMANTIC] if asked is not None and found is None else list(found.degraded) if found is not None else []
        if turns is not None and page is None:
            degraded.append(WORKING)
        unguided = guidance is not None and guided is None and guidance.refused != NotFound.code
        if unguided or (style is not None and styled is None):
            degraded.append(BEHAVIORAL)
        searched = found if plan.candidates else None
        hot = hot or self._hot.last_decided(ticket.scopes)
        page = still_said(page, hot.withdrawn, hot.edited) if page is not None else None
        mood = self._mood(request, page)
        material = material_of(request, plan, settings, searched, hot.items, page, in_mind, mood.valence, guided, styled)
        said = page.settled if page is not None else NOT_ASKED
        settled = Applied(found.settled, said) if found is not None else None
        behavior = _compared(answer for asked, answer in ((guidance, guided), (style, styled)) if asked is not None)
        return _Asked(found, material, tuple(degraded), settled, mood, behavior)

    def _mood(self, request: context_pb2.ContextRequest, page: working_pb2.MessagePage | None) -> Mood:
        """How the one who asks feels: as the request says, or as their last messages do; of another time nobody knows."""
        if request.valence_known or request.valence:
            return Mood(request.valence, REQUEST)
        if request.as_of_us or request.known_as_of_us:
            return Mood()
        figures, now_us = self._settings.mood, self._clock.now_us()
        said = [
            Said(message.content, message.said_at_us or message.received_at_us)
            for message in readable_turns(page, request)
            if message.role == "user"
        ]
        return mood_of(
            request.query,
            said,
            self._tables.feelings.valence,
            messages=figures.messages,
            minutes=figures.minutes,
            now_us=now_us,
        )

    def _embed_ms(self, given: float) -> float:
        """Of the time that its asker has; a model that did not answer last time is given no more than a probe."""
        share = given * self._settings.embed_share
        return min(share, self._settings.probe_ms) if self._health.missed(MODEL) else share

    def _place(
        self, request: context_pb2.ContextRequest, plan: Plan, material: Material, watch: Stopwatch
    ) -> tuple[Fitted, Dropped]:
        """What fits into the context, and what was left out before."""
        started = monotonic()
        chosen, dropped = self._choose(request, plan, material)
        watch.note("rank", started)
        started = monotonic()
        fitted = self._fit(request, plan, chosen)
        crowded = {id_ for id_, rule in fitted.dropped if rule == HOT_SHARE}
        if crowded and silencing(chosen, crowded, dropped):
            left = replace(material, items=[item for item in material.items if item.id not in crowded])
            chosen, dropped = self._choose(request, plan, left)
            again = self._fit(request, plan, chosen)
            fitted = replace(again, dropped=(*((id_, HOT_SHARE) for id_ in sorted(crowded)), *again.dropped))
        watch.note("budget", started)
        return fitted, dropped

    def _choose(self, request: context_pb2.ContextRequest, plan: Plan, material: Material) -> tuple[list[ContextItem], Dropped]:
        """What stands in the context, best first, and what does not by which rule."""
        settings = self._settings
        historical = plan.historical or bool(request.as_of_us or request.known_as_of_us)
        items, inactive = eligible(
            material.items,
            least_confidence=settings.least_confidence,
            historical=historical,
            now_us=self._clock.now_us(),
            # By what was known then it is still asked for what is so now.
            ahead=plan.historical or bool(request.as_of_us) or self._tables.routing.asks_ahead(request.query),
        )
        items = boosted(items, material.around, settings.boosts)
        # What answers comes first, whatever else is like the question.
        items.sort(key=lambda item: (not item.answers, -item.score))
        # What is too weak to be told may not take the place of the words it was made of.
        items, weak = gated(items, full=settings.full_score, short=settings.short_score)
        items, outdone = placed(
            items, material.likeness, covered=settings.covered, ignored=self._function_words, weight=settings.diversity,
            most=plan.limit, most_of_kind=settings.most_of_kind,
        )  # fmt: skip
        return items, [*inactive, *weak, *outdone]

    def _fit(self, request: context_pb2.ContextRequest, plan: Plan, items: list[ContextItem]) -> Fitted:
        fitted = self._fitted(request, plan, items, hot_share=self._settings.hot.share)
        if not (plan.figures.by_time and plan.candidates):
            return fitted
        # What did not fit was cut by rank; what stays is told in the order of time, the answer first.
        told = sorted(fitted.items, key=lambda item: (not item.answers, item.valid_from_us or item.said_at_us))
        # What stays fits: in another order nothing of it may be cut.
        again = self._fitted(request, plan, told, hot_share=1.0)
        return replace(again, dropped=(*fitted.dropped, *again.dropped))

    def _fitted(
        self, request: context_pb2.ContextRequest, plan: Plan, items: Sequence[ContextItem], *, hot_share: float
    ) -> Fitted:
        settings = self._settings
        return fit(
            items,
            max_items=plan.limit,
            max_tokens=request.max_tokens or settings.max_tokens,
            count=self._count,
            item_share=settings.item_share,
            short_tokens=settings.short_tokens,
            hot_share=hot_share,
            least_score=settings.short_score,
            zone=zone_of(request.zone),
            known=self._tables.markers,
        )

    def _tell(
        self, request: context_pb2.ContextRequest, plan: Plan, asked: _Asked, fitted: Fitted, dropped: Dropped
    ) -> context_pb2.ContextAnswer:
        answer = context_pb2.ContextAnswer(
            text=fitted.text, tokens=fitted.tokens, degraded=asked.degraded, intent=plan.intent, parts=plan.questions[1:],
            model=asked.found.model if asked.found is not None else "", tokenizer=self._counter.name,
            items=[item_message(item, self._settings.item_characters) for item in fitted.items],
            valence=asked.mood.valence, mood_from=asked.mood.told_by,
            understood_by=plan.read_by, not_understood=plan.missed,
        )  # fmt: skip
        if request.explain:
            answer.dropped.extend(semantic_pb2.DroppedItem(id=id_, rule=rule) for id_, rule in dropped)
        return answer


def _ask_behavior(tiers: Tiers, request: context_pb2.ContextRequest) -> tuple[Asked | None, Asked | None]:
    """The guidance of the selection, and what preferences say, as far as the request wants them."""
    user, guidance, style = request.user_id, None, None
    if request.selection_id:
        guidance = tiers.ask(BEHAVIORAL, BEHAVIORAL, questions.guidance_question(user, request.selection_id), user)
    if request.patterns:
        style = tiers.ask(BEHAVIORAL, "patterns", questions.style_question(user), user)
    return guidance, style


def _compared(answers: Iterable[Message | None]) -> tuple[bytes, ...]:
    """Answers of a tier, to be compared; empty where there is nothing under that id."""
    return tuple(b"" if answer is None else answer.SerializeToString(deterministic=True) for answer in answers)


def _begins(asked: _Asked) -> list[int]:
    """When another answer may be right: something of the scopes begins or ends, what was found begins to hold."""
    found = asked.found
    return [found.turns_us, *(record.valid_from_us for record in found.records)] if found is not None else []


def item_message(item: ContextItem, longest: int) -> context_pb2.ContextItem:
    """An item for the wire, its text cut at `longest` letters."""
    text = item.text if len(item.text) <= longest else item.text[:longest].rstrip() + ELLIPSIS
    return context_pb2.ContextItem(
        id=item.id, text=text, kind=item.kind, tier=item.tier, layer=item.layer, score=item.score,
        shares=questions.shares_of(item.shares.items()), evidence=item.evidence, tokens=item.tokens,
        said_at_us=item.said_at_us, detail=item.detail, valid_from_us=item.valid_from_us,
        valid_until_us=item.valid_until_us or item.over_us,
        status=item.status, answers=item.answers, confidence=item.confidence,
    )  # fmt: skip


def timings(watch: Stopwatch, inside: Iterable[semantic_pb2.StageTiming] = ()) -> list[semantic_pb2.StageTiming]:
    """Milliseconds by stage; those inside of long-term memory under its name."""
    stages = {**watch.stages, "total": watch.elapsed()}
    found = [semantic_pb2.StageTiming(stage=stage, milliseconds=round(spent, 3)) for stage, spent in stages.items()]
    found += (
        semantic_pb2.StageTiming(stage=f"{SEMANTIC}.{one.stage}", milliseconds=round(one.milliseconds, 3)) for one in inside
    )
    return found
