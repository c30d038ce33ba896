"""One search over all layers: what was said (L0), what is remembered (L1), how to behave (L2), and what ties them.

There is no second copy: L0 and L1 are tied by the ids of events, which both owners keep, L2 is asked of its owner.
"""

from __future__ import annotations

import uuid
from collections.abc import Container, Iterable, Sequence
from itertools import zip_longest

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2, context_pb2, envelope_pb2, semantic_pb2, working_pb2
from aico_memory.domain.context.deadlines import total_time
from aico_memory.domain.context.matching import share_of_words
from aico_memory.domain.context.plan import BEHAVIORAL, SEMANTIC, WORKING
from aico_memory.domain.memory import STATUSES, record_of
from aico_memory.errors import InvalidMessage
from aico_memory.ids import derive_id
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.context import ContextSettings
from services.context import questions
from services.context.assembling import timings
from services.context.caching import HotTiers, Watch
from services.context.material import readable_turns
from services.context.searching import Searching
from services.context.tables import ReadingTables
from services.context.tiers import Stopwatch, TierHealth, Tiers

LAYERS = ("L0", "L1", "L2")
# Messages of working memory of one page, of which a search looks through one and a check of links some, and memories of one.
_MESSAGES, _PAGES, _PAGE = 500, 20, 200
# Share of the time there is in which messages are waited for.
_FOR_MESSAGES = 0.5
RESTS_ON, MADE = "rests_on", "made"
# Not all that working memory holds was looked through.
PARTIAL = f"{WORKING}: partial"
# Where others speak, too.
_SHARED = (envelope_pb2.SCOPE_KIND_GROUP, envelope_pb2.SCOPE_KIND_PROJECT, envelope_pb2.SCOPE_KIND_GLOBAL)


class Unified:
    """Answers over all layers, and follows the links between them."""

    def __init__(
        self, link: LinkPort, settings: ContextSettings, searching: Searching, tables: ReadingTables, health: TierHealth,
        watch: Watch, hot: HotTiers,
    ) -> None:  # fmt: skip
        self._link = link
        self._settings = settings
        self._searching = searching
        self._health = health
        self._watch = watch
        self._hot = hot
        self._ignored = frozenset().union(*tables.words.function_words.values())

    def query(self, event: Event) -> context_pb2.UnifiedResult:
        """The best of each layer with their links, the first of each before the second of any: what layers score by does not
        compare. Raises InvalidMessage for an unknown layer.
        """
        request: context_pb2.UnifiedRequest = event.message
        layers = tuple(request.layers) or LAYERS
        if unknown := set(layers) - set(LAYERS):
            raise InvalidMessage(f"No layer {sorted(unknown)[0][:32]!r}; there are {', '.join(LAYERS)}")
        watch = Stopwatch()
        top_k = min(request.top_k or self._settings.search_default, self._settings.search_limit)
        tiers = self._tiers(event, watch, self._settings.deadline_ms)
        user, answer = request.user_id, context_pb2.UnifiedResult()
        # L1's links tell what of L0 is still there, so that the messages are asked for in any case.
        said = tiers.ask(WORKING, WORKING, working_pb2.ReadMessages(user_id=user, limit=_MESSAGES), user)
        skills = None
        if "L2" in layers:
            skills = tiers.ask(BEHAVIORAL, BEHAVIORAL, behavioral_pb2.SkillsRequest(user_id=user), user)
        remembered: Sequence[semantic_pb2.SearchHit] = ()
        if "L1" in layers:
            search = context_pb2.SearchRequest(
                user_id=user, query=request.query, top_k=top_k, group_id=request.group_id, project_id=request.project_id
            )
            # It may wait for the model all the time it has: the others are waited for as if they were asked then.
            whole_ms = self._searching.time(event)
            kept_ms = min(self._settings.deadline_ms, whole_ms / 2)
            found = self._searching.found(event, search, watch, kept_ms).answer
            tiers = self._tiers(event, watch, min(whole_ms, watch.elapsed() + kept_ms))
            remembered = list(found.hits)
            answer.degraded.extend(found.degraded)
        page: working_pb2.MessagePage | None = tiers.take(said)
        messages = readable_turns(page, request)
        held = {message.event_id for message in page.messages} if page is not None else set[bytes]()
        whole = page is not None and _is_all(page)
        memory_hits = [_memory_hit(hit, held, whole) for hit in remembered]
        message_hits: Sequence[context_pb2.UnifiedHit] = ()
        missed = [WORKING] if page is None else [PARTIAL] if not whole and {"L0", "L1"}.intersection(layers) else []
        if "L0" in layers:
            said_hits = self._best(request.query, (_message_hit(message, remembered) for message in messages))
            message_hits, told = self._still_said(said_hits, top_k, request, tiers)
            if not told:
                missed.append(SEMANTIC)
        # Waited for last: nobody else's answer depends on it.
        known: behavioral_pb2.SkillsPage | None = tiers.take(skills) if skills else None
        if skills is not None and known is None:
            missed.append(BEHAVIORAL)
        answer.degraded.extend(name for name in missed if name not in answer.degraded)
        skill_hits = self._best(request.query, map(_skill_hit, known.skills if known is not None else ()))[:top_k]
        in_turn = zip_longest(memory_hits, message_hits, skill_hits)
        answer.hits.extend(hit for place in in_turn for hit in place if hit is not None)
        answer.timings.extend(timings(watch))
        return answer

    def verify(self, event: Event) -> context_pb2.VerifiedLinks:
        """Follow the links of a user's memories and of those of the group and project named, whatever became of them, page by
        page, as far as time and `limit` reach."""
        request: context_pb2.VerifyLinksRequest = event.message
        user, watch, answer = request.user_id, Stopwatch(), context_pb2.VerifiedLinks()
        tiers = self._tiers(event, watch, self._settings.deadline_ms)
        said, known = self._said(tiers, user)
        # What was said in a group or project has its record there.
        held = {one.event_id: (one.group_id, one.project_id) for one in said}
        named = (request.group_id, request.project_id)
        scopes = [one for one in questions.readable_scopes(user, *named) if one.kind != envelope_pb2.SCOPE_KIND_GLOBAL]
        every = semantic_pb2.SearchFilters(statuses=STATUSES)
        left, after, recorded = request.limit or self._settings.search_limit, "", set[str]()
        while left > 0:
            asked = semantic_pb2.ListMemories(
                user_id=user, limit=min(left, _PAGE), after=after, scopes=scopes, filters=every
            )  # fmt: skip
            found: semantic_pb2.MemoryPage | None = tiers.take(tiers.ask(SEMANTIC, "list", asked, user))
            if found is None:
                answer.degraded.extend(tiers.silent)
                return answer
            known = self._follow(answer, found.records, held, recorded, tiers, user, named) and known
            left -= max(1, len(found.records))
            after = found.next
            if not after:
                break
        missing = {event_id: place for event_id, place in held.items() if _record_id(event_id) not in recorded}
        absent: list[bytes] = []
        for place in dict.fromkeys(missing.values()):
            there, unknown = self._absent([event_id for event_id, its in missing.items() if its == place], tiers, user, place)
            absent += there
            known = known and not unknown
        answer.without_record.extend(
            context_pb2.LayerLink(layer="L0", id=_text(event_id), what=MADE, present=True) for event_id in absent
        )
        answer.complete = not after and known
        answer.degraded.extend(tiers.silent)
        return answer

    def _said(self, tiers: Tiers, user: str) -> tuple[list[working_pb2.StoredMessage], bool]:
        """What working memory holds, and whether that is all of it."""
        said: list[working_pb2.StoredMessage] = []
        before = b""
        for _ in range(_PAGES):
            asked = working_pb2.ReadMessages(user_id=user, limit=_MESSAGES, before_event_id=before)
            # Who does not answer leaves time for the others.
            page: working_pb2.MessagePage | None = tiers.take(tiers.ask(WORKING, WORKING, asked, user), _FOR_MESSAGES)
            if page is None:
                return said, False
            said += page.messages
            if _is_all(page):
                return said, True
            before = page.messages[0].event_id
        return said, False

    def _follow(
        self, answer: context_pb2.VerifiedLinks, records: Iterable[semantic_pb2.MemoryRecord],
        held: Container[bytes], recorded: set[str], tiers: Tiers, user: str, named: tuple[str, str],
    ) -> bool:  # fmt: skip
        """Whether it could be told of all their links where they lead."""
        ends: list[bytes] = []
        for record in records:
            answer.memories += 1
            answer.links += len(record.sources)
            recorded.add(record.memory_id)
            ends += [source.event_id for source in record.sources if len(source.event_id) == 16]
        elsewhere = [end for end in dict.fromkeys(ends) if end not in held and not recorded.intersection(_left_by(end))]
        gone, unknown = map(set, self._absent(elsewhere, tiers, user, named))
        answer.sound += sum(end not in gone and end not in unknown for end in ends)
        answer.dangling.extend(context_pb2.LayerLink(layer="L0", id=_text(end), what=RESTS_ON) for end in gone)
        return not unknown

    def _absent(
        self, event_ids: Sequence[bytes], tiers: Tiers, user: str, place: tuple[str, str] = ("", "")
    ) -> tuple[list[bytes], list[bytes]]:
        """Those of these events that left nothing, and those of which long-term memory does not say.

        `place` is the group and the project in which they were said, "" for none.
        """
        absent: list[bytes] = []
        unknown: list[bytes] = []
        scopes = questions.readable_scopes(user, *place)
        for at in range(0, len(event_ids), _PAGE // 2):
            part = event_ids[at : at + _PAGE // 2]
            ids = [left for one in part for left in _left_by(one)]
            asked = semantic_pb2.GetMemory(user_id=user, memory_ids=ids, scopes=scopes)
            page: semantic_pb2.MemoryPage | None = tiers.take(tiers.ask(SEMANTIC, "get", asked, user))
            if page is None:
                unknown += part
                continue
            there = {record.memory_id for record in page.records}
            absent += [one for one in part if not there.intersection(_left_by(one))]
        return absent, unknown

    def _with_records(
        self, hits: Sequence[context_pb2.UnifiedHit], request: context_pb2.UnifiedRequest, tiers: Tiers
    ) -> tuple[Sequence[context_pb2.UnifiedHit], bool]:
        """Whether a message's record is there does not depend on its being among what was found; deleted ones go, edited ones
        say what they say now. With False nobody tells but what was heard of both."""
        if not hits:
            return hits, True
        scopes = questions.readable_scopes(request.user_id, request.group_id, request.project_id)
        asked = semantic_pb2.GetMemory(
            user_id=request.user_id, memory_ids=[link.id for hit in hits for link in hit.links], scopes=scopes
        )
        page: semantic_pb2.MemoryPage | None = tiers.take(tiers.ask(SEMANTIC, "get", asked, request.user_id))
        records = {record.memory_id: record for record in page.records} if page is not None else {}
        gone = {memory_id for memory_id, record in records.items() if record.status == "invalid"}
        # Only edits give a record another version.
        edited = {memory_id: record.text for memory_id, record in records.items() if record.version > 1}
        if page is None:
            places = self._watch.scopes(request.user_id, request.group_id, request.project_id)
            decided = self._hot.last_decided(places)
            gone = set(map(_text, decided.withdrawn))
            edited = {_text(record_id): text for record_id, text in decided.edited.items()}
        for hit in hits:
            for link in hit.links:
                if not link.present:
                    link.present, link.unknown = link.id in records, page is None
            # The first link is the record's own.
            if (text := edited.get(hit.links[0].id)) is not None:
                hit.text, hit.score = text, self._share(request.query, text)
        left = [hit for hit in hits if hit.score > 0 and gone.isdisjoint(link.id for link in hit.links)]
        return left, page is not None

    def _still_said(
        self, hits: Sequence[context_pb2.UnifiedHit], top_k: int, request: context_pb2.UnifiedRequest, tiers: Tiers
    ) -> tuple[list[context_pb2.UnifiedHit], bool]:
        """The best of the messages that are still there, and whether long-term memory told of all that were looked at."""
        found: list[context_pb2.UnifiedHit] = []
        for at in range(0, len(hits), top_k):
            left, told = self._with_records(hits[at : at + top_k], request, tiers)
            found += left
            if not told:
                return found[:top_k], False
            # What was deleted takes no place of what was not.
            if len(found) >= top_k:
                break
        return _in_order(found)[:top_k], True

    def _best(self, query: str, hits: Iterable[context_pb2.UnifiedHit]) -> list[context_pb2.UnifiedHit]:
        """By the share of the query's words that they hold; without those that hold none."""
        found = []
        for hit in hits:
            hit.score = self._share(query, hit.text)
            if hit.score > 0:
                found.append(hit)
        return _in_order(found)

    def _share(self, query: str, text: str) -> float:
        return share_of_words(query, text, self._ignored)

    def _tiers(self, event: Event, watch: Stopwatch, whole_ms: float) -> Tiers:
        settings = self._settings
        allowance = (event.deadline_us - event.occurred_us) / 1000 if event.deadline_us and event.occurred_us else 0.0
        total = total_time(whole_ms, allowance)
        return Tiers(
            self._link, self._health, watch, total=total, reserve=min(settings.reserve_ms, total / 4), probe=settings.probe_ms
        )


def _in_order(hits: Iterable[context_pb2.UnifiedHit]) -> list[context_pb2.UnifiedHit]:
    return sorted(hits, key=lambda hit: (-hit.score, -hit.said_at_us))


def _is_all(page: working_pb2.MessagePage) -> bool:
    """Whether there is nothing before the page's messages."""
    return not page.messages or not (page.cut or len(page.messages) >= _MESSAGES)


def _memory_hit(hit: semantic_pb2.SearchHit, held: Container[bytes], whole: bool) -> context_pb2.UnifiedHit:
    """`held`: the user's messages that are known to be there, and whether these are `whole`: all there are.

    Of what somebody else may have said nobody tells whether it is still there.
    """
    record = hit.record
    told = whole and record.scope.kind not in _SHARED
    links = [
        context_pb2.LayerLink(
            layer="L0", id=_text(source.event_id), what=RESTS_ON, present=source.event_id in held,
            unknown=not told and source.event_id not in held,
        )
        for source in record.sources
    ]  # fmt: skip
    return context_pb2.UnifiedHit(
        layer="L1", id=record.memory_id, kind=record.kind, text=record.text, score=hit.score, links=links,
        said_at_us=record.sources[0].said_at_us if record.sources else record.valid_from_us,
    )  # fmt: skip


def _message_hit(message: working_pb2.StoredMessage, remembered: Sequence[semantic_pb2.SearchHit]) -> context_pb2.UnifiedHit:
    made = [
        hit.record.memory_id for hit in remembered if any(source.event_id == message.event_id for source in hit.record.sources)
    ]
    own = _record_id(message.event_id)
    links = [context_pb2.LayerLink(layer="L1", id=one, what=MADE, present=one in made) for one in dict.fromkeys((own, *made))]
    return context_pb2.UnifiedHit(
        layer="L0", id=_text(message.event_id), kind=message.source_type or message.role, text=message.content, links=links,
        said_at_us=message.said_at_us or message.received_at_us,
    )  # fmt: skip


def _skill_hit(skill: behavioral_pb2.Skill) -> context_pb2.UnifiedHit:
    text = " ".join((skill.name, skill.template, *skill.topics))
    return context_pb2.UnifiedHit(layer="L2", id=skill.skill_id, kind=skill.type or "skill", text=text)


def _record_id(event_id: bytes) -> str:
    return _text(record_of(event_id))


def _left_by(event_id: bytes) -> tuple[str, str]:
    """What an event leaves in long-term memory: a message its record, an edit the version that it replaced."""
    return _record_id(event_id), str(derive_id(uuid.UUID(bytes=event_id), "version"))


def _text(event_id: bytes) -> str:
    return str(uuid.UUID(bytes=event_id)) if len(event_id) == 16 else event_id.hex()
