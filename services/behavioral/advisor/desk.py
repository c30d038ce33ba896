"""The advisor's memory as the worker sees it: its topics, commands and requests, and what happens between batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from google.protobuf.message import Message

from aico_memory.contracts.consumer_state import ConsumerTransaction
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import behavioral_pb2, outcomes_pb2
from aico_memory.domain.advisor.compaction import border_us, saved
from aico_memory.domain.advisor.insights import Insight
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.models.token_counter import TokenCounter, token_counter
from aico_memory.paths import config_file
from aico_memory.runtime.ports import Ports, RequestHandler
from aico_memory.stores.behavioral.pattern_file import FILE, load_patterns
from aico_memory.stores.behavioral.port import BehavioralRows, BehavioralStore
from aico_memory.vault.sealer import Sealer
from services.behavioral.advisor.asking import Asking
from services.behavioral.advisor.compacting import compact_user, patterns_stand
from services.behavioral.advisor.embedding import OutcomeEmbedder
from services.behavioral.advisor.finding import Finder
from services.behavioral.advisor.insights import (
    count_again,
    counted_in,
    curate_all,
    insight_message,
    insights_page,
    review,
    write_file,
)
from services.behavioral.advisor.recording import Recorder
from services.behavioral.emitting import audit, emit, emit_finished

Command = Callable[[ConsumerTransaction, BehavioralRows, Event], Message]
OUTCOME = topic_of(behavioral_pb2.OutcomeRecorded).name
SUGGESTION = topic_of(outcomes_pb2.SuggestionMade).name
DECIDE = topic_of(outcomes_pb2.DecideSuggestion).name
DELETE = topic_of(outcomes_pb2.DeleteOutcomes).name
COMPACT = topic_of(behavioral_pb2.CompactOutcomes).name
COMPACT_NOW = topic_of(outcomes_pb2.CompactNow).name
CURATE = topic_of(outcomes_pb2.CurateInsights).name
REVIEW = topic_of(outcomes_pb2.ReviewInsight).name
TOPICS = (OUTCOME, SUGGESTION, DECIDE, DELETE, COMPACT, COMPACT_NOW, CURATE, REVIEW)
INSIGHTS_FILE = Path("insights") / "suggestions.md"


class Desk:
    """One instance a worker; commands and `idle` in the consumer's thread, requests in others."""

    def __init__(self, ports: Ports, store: BehavioralStore, languages: LanguageTable) -> None:
        self._ports = ports
        self._store = store
        self._settings = ports.settings.behavioral.outcomes
        self._rules = load_patterns(config_file(ports.home, FILE))
        self._sealer_of = ports.vault.users.sealer
        self._finder = Finder(
            lambda question, seconds: ports.link.request(question, timeout=seconds), self._settings, languages
        )  # fmt: skip
        self._embedder = OutcomeEmbedder(
            store, lambda question, seconds: ports.link.request(question, timeout=seconds), self._reader_of, self._finder,
            self._settings, ports.log,
        )  # fmt: skip
        self._recorder = Recorder(self._settings, self._sealer_of, self._reader_of)
        self._file = ports.home.root / INSIGHTS_FILE
        # A process that died may not have written what it committed.
        self._file_is_old = True
        self._asking = Asking(
            store, self._rules, self._settings, self._reader_of, self._finder, lambda: self._counter, ports.clock,
            str(self._file),
        )  # fmt: skip
        self.commands: Mapping[str, Command] = {
            OUTCOME: self._record,
            SUGGESTION: lambda _, rows, event: self._recorder.make(rows, event),
            DECIDE: self._record,
            DELETE: self.counting(self._delete),
            COMPACT: self._compact,
            COMPACT_NOW: self._compact,
            CURATE: self._curate,
            REVIEW: self._review,
        }
        self.requests: Mapping[str, RequestHandler] = self._asking.handlers()

    def counting(self, command: Command) -> Command:
        """The command, after which insights count its user no longer, or again: k people stand behind each at any time."""

        def counted(transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
            if not rows.insights():
                return command(transaction, rows, event)
            before = counted_in(rows, event.user, self._rules, self._settings, self._reader_of)
            answer = command(transaction, rows, event)
            after = counted_in(rows, event.user, self._rules, self._settings, self._reader_of)
            self._file_is_old |= count_again(rows, before, after, self._settings.k)
            return answer

        return counted

    def idle(self) -> None:
        """Embed what was recorded."""
        self._embedder.step()

    def after_commit(self) -> None:
        """Show insights that have changed."""
        if not self._file_is_old:
            return
        self._file_is_old = False
        with self._store.reading() as rows:
            self._show(rows.insights())

    def _show(self, insights: Sequence[Insight]) -> None:
        if not insights and not self._file.exists():
            return
        try:
            write_file(self._file, insights, self._settings.k)
        except OSError as error:
            self._ports.log.warning("insights_not_written", error=type(error).__name__, errno=error.errno)

    @cached_property
    def _counter(self) -> TokenCounter:
        return token_counter(self._ports.settings.models.embedding)

    def _reader_of(self, user: str) -> Sealer:
        return self._ports.vault.users.sealer(user, create=False)

    def _record(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        answer = (self._recorder.record if event.topic == OUTCOME else self._recorder.decide)(rows, event)
        self._embedder.wake()
        self._ports.log.info(
            "outcome", metric_type="behavioral_memory_outcome", user=event.user, outcome=event.message.outcome,
            status=getattr(answer, "status", ""),
        )  # fmt: skip
        return answer

    def _delete(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        answer = self._recorder.delete(rows, event)
        emit(transaction, event, audit(event, "outcomes_deleted", {"deleted": getattr(answer, "deleted", 0)}), "audit")
        return answer

    def _compact(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        at_us = event.occurred_us
        now_us = getattr(event.message, "planned_at_us", 0) or at_us
        users: Sequence[str] = [event.user] if event.user else rows.outcome_users()
        report = outcomes_pb2.CompactionReport(tokenizer=self._counter.name, patterns_unchanged=True)
        if not event.user:
            report.expired = self._recorder.expire_overdue(rows, event, now_us)
        before_us, count = border_us(now_us, self._settings), self._counter.count
        for user in users:
            if not self._ports.vault.users.exists(user) and self._ports.vault.encrypted:
                # The key is destroyed: there is nothing left to read.
                continue
            sealer = self._sealer_of(user)
            found = compact_user(rows, user, sealer, before_us, at_us, count)
            report.users += bool(found.compacted)
            report.compacted += found.compacted
            report.kept_whole += found.whole
            report.tokens_before += found.tokens_before
            report.tokens_after += found.tokens_after
            report.patterns_unchanged &= patterns_stand(rows, user, sealer, self._rules, self._settings.profile)
        if not event.user:
            self._curate_all(rows, at_us)
        report.saved = saved(report.tokens_before, report.tokens_after)
        self._embedder.wake()
        detail = (
            f"{report.compacted} outcomes of {report.users} users compacted, {report.expired} suggestions expired; "
            f"{report.tokens_before} tokens before, {report.tokens_after} after ({report.saved:.1%} saved)"
        )
        emit_finished(transaction, event, detail)
        self._ports.log.info(
            "compacted", metric_type="behavioral_memory_compaction", users=report.users, outcomes=report.compacted,
            tokens_before=report.tokens_before, tokens_after=report.tokens_after, saved=report.saved,
            patterns_unchanged=report.patterns_unchanged,
        )  # fmt: skip
        return report

    def _curate(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        found = self._curate_all(rows, event.occurred_us)
        # Whoever is told where the file is finds it there; written once more when all this stands.
        self._show(found)
        return insights_page(found, str(self._file), self._settings.k)

    def _curate_all(self, rows: BehavioralRows, at_us: int) -> Sequence[Insight]:
        self._file_is_old = True
        return curate_all(rows, self._rules, self._settings, self._reader_of, at_us)

    def _review(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        insight_id, action = event.message.insight_id, event.message.action
        found = review(rows, insight_id, action)
        emit(transaction, event, audit(event, "insight_reviewed", {"insight": insight_id, "action": action}), "audit")
        self._file_is_old = True
        self._show(rows.insights())
        return insight_message(found)
