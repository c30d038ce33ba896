"""The text index in memory: as current as the truth, bounded, and the same however it came to be."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.memory import OPEN, Facets, Memory, Scope
from aico_memory.domain.retrieval.cues import joined
from aico_memory.domain.retrieval.evidence import NOBODY
from aico_memory.domain.retrieval.question import AskedWord
from aico_memory.stores.index.memory_text import InMemoryText, InvertedTextIndex
from aico_memory.stores.index.scope_columns import place_of
from aico_memory.stores.index.scope_text import ScopeText, TextRow
from aico_memory.stores.index.text_source import Change, RowRules

ADA, BEN = Scope("user", "ada"), Scope("user", "ben")
HOUR = 3_600_000_000
RULES = RowRules(LanguageTable({}, {}), joined([]), "en")


def row(key: int, text: str = "tea", said: int = 0, session: str = "s", **more: object) -> TextRow:
    facets = Facets("record", "episodic", "active", session, said, 0, OPEN, 0, OPEN)
    return TextRow(key, facets, text.split(), **more)  # type: ignore[arg-type]


def asked(*words: str, language: str = "en") -> list[AskedWord]:
    return [AskedWord(((language, word),), 1.0) for word in words]


def links(text: ScopeText) -> dict[int, tuple[int, int]]:
    """Key -> keys of the turn before and after."""
    order = text.order()
    keys, joined, alive = text.keys()[order.places].tolist(), [*order.joined.tolist(), False], text.alive()[order.places]
    return {
        key: (keys[at - 1] if joined[at] else NOBODY, keys[at + 1] if joined[at + 1] else NOBODY)
        for at, key in enumerate(keys)
        if alive[at]
    }


def memory(number: int, text: str, scope: Scope = ADA) -> Memory:
    return Memory(
        memory_id=bytes([number] * 16), scope=scope, owner=scope.id, kind="record", text=text, said_at_us=number,
        recorded_at_us=0, valid_from_us=0, created_at_us=0, updated_at_us=0, received_at_us=0, language="en",
    )  # fmt: skip


class Truth:
    """A store of memories that notes its changes; those of destroyed keys cannot be opened."""

    def __init__(self) -> None:
        self.kept: dict[int, Memory] = {}
        self.noted: list[Change] = []
        self.shut: set[int] = set()
        self.read = 0
        self.most_reads = 1_000_000

    def write(self, key: int, memory: Memory) -> None:
        self.kept[key] = memory
        self.noted.append(Change(len(self.noted) + 1, key, memory.scope))

    def position(self) -> int:
        return len(self.noted)

    def changes(self, after: int, limit: int) -> list[Change]:
        return self.noted[after : after + limit]

    def memories(self, scope: Scope, after: int, limit: int) -> list[tuple[int, Memory]]:
        self.read += 1
        assert self.read <= self.most_reads, "read again and again"
        found = [(key, one) for key, one in sorted(self.kept.items()) if key > after and one.scope == scope]
        return [entry for entry in found if entry[0] not in self.shut][:limit]

    def newest(self, memories: int) -> list[Scope]:
        return list(dict.fromkeys(self.kept[key].scope for key in sorted(self.kept, reverse=True)[:memories]))

    def opened(self, keys: list[int]) -> list[tuple[int, Memory]]:
        return [(key, self.kept[key]) for key in keys if key not in self.shut]

    def size(self, scope: Scope) -> int:
        return sum(one.scope == scope for one in self.kept.values())


@pytest.fixture
def truth() -> Truth:
    return Truth()


def opened(truth: Truth, cache_bytes: int = 1 << 24) -> InMemoryText:
    return InMemoryText(truth, RULES, cache_bytes=cache_bytes, load_batch=2, session_gap_us=HOUR)  # type: ignore[arg-type]


def holding(texts: InMemoryText, word: str, scope: Scope = ADA) -> list[int]:
    def look(found: list[ScopeText]) -> list[int]:
        often = found[0].count_words(asked(word)).often[0] * found[0].alive()
        return sorted(found[0].keys()[often > 0].tolist())

    return texts.read([scope], look)  # type: ignore[arg-type]


def test_what_is_committed_is_found_by_the_next_question(truth):
    texts = opened(truth)
    truth.write(1, memory(1, "green tea"))
    assert holding(texts, "tea") == [1]
    truth.write(2, memory(2, "black tea"))
    truth.write(1, replace(memory(1, "coffee"), version=2))
    assert (holding(texts, "tea"), holding(texts, "coffee")) == ([2], [1])


def test_every_form_of_a_word_finds_it_in_the_language_that_is_asked(truth):
    texts = opened(truth)
    truth.write(1, memory(1, "we were walking home"))
    assert holding(texts, "walks") == [1]


def test_one_scope_has_nothing_of_another(truth):
    texts = opened(truth)
    truth.write(1, memory(1, "tea"))
    truth.write(2, memory(2, "tea", BEN))
    assert (holding(texts, "tea"), holding(texts, "tea", BEN)) == ([1], [2])


def test_what_can_be_opened_no_more_is_gone_at_its_next_change(truth):
    texts = opened(truth)
    truth.write(1, memory(1, "tea"))
    assert holding(texts, "tea") == [1]
    truth.shut.add(1)
    truth.write(1, memory(1, "tea"))
    assert holding(texts, "tea") == []


def test_a_scope_beyond_the_bound_is_dropped_and_read_again(truth):
    texts = opened(truth, cache_bytes=1)
    truth.write(1, memory(1, "tea"))
    truth.write(2, memory(2, "tea", BEN))
    assert (holding(texts, "tea"), holding(texts, "tea", BEN), holding(texts, "tea")) == ([1], [2], [1])
    assert (texts.status()["scopes"], texts.status()["loads"]) == (1, 3)


def bytes_of(texts: InMemoryText, scopes: list[Scope]) -> int:
    return sum(texts.read([scope], lambda found: found[0].nbytes) for scope in scopes)


def test_what_is_held_is_counted_as_it_grows_shrinks_and_goes(truth):
    texts = opened(truth)
    truth.write(1, memory(1, "tea"))
    truth.write(2, memory(2, "tea", BEN))
    assert texts.status()["bytes"] == 0
    assert bytes_of(texts, [ADA, BEN]) == texts.status()["bytes"] > 0
    for key in range(3, 40):
        truth.write(key, memory(key, f"a longer text about number {key}"))
    assert bytes_of(texts, [ADA, BEN]) == texts.status()["bytes"]
    truth.shut.add(2)
    truth.write(2, memory(2, "tea", BEN))
    assert bytes_of(texts, [ADA, BEN]) == texts.status()["bytes"]
    texts.drop(ADA)
    assert texts.status()["bytes"] == bytes_of(texts, [BEN])
    texts.drop()
    assert texts.status()["bytes"] == 0


def test_a_check_reads_again_what_differs_from_the_truth(truth):
    texts = opened(truth)
    truth.write(1, memory(1, "tea"))
    holding(texts, "tea")
    truth.kept[2] = memory(2, "tea")
    assert texts.verify() == ["a scope has 1 texts indexed, 2 stored"]
    assert holding(texts, "tea") == [1, 2]
    assert texts.verify() == []


def test_turns_of_a_session_stand_beside_each_other_and_sessions_apart():
    text = ScopeText(HOUR)
    for key, session in enumerate(["a", "a", "b", "a"], start=1):
        text.put(row(key, said=key, session=session))
    assert links(text) == {1: (-1, 2), 2: (1, 4), 3: (-1, -1), 4: (2, -1)}


def test_a_long_silence_parts_turns_without_a_session():
    text = ScopeText(HOUR)
    for key, said in enumerate([0, HOUR, 3 * HOUR], start=1):
        text.put(row(key, said=said, session=""))
    assert links(text) == {1: (-1, 2), 2: (1, -1), 3: (-1, -1)}


def test_what_is_no_turn_has_nobody_beside_it():
    text = ScopeText(HOUR)
    text.put(row(1, said=1))
    text.put(row(2, said=2, turn=False))
    text.put(row(3, said=3))
    assert links(text) == {1: (-1, 3), 2: (-1, -1), 3: (1, -1)}


def test_characters_find_what_no_word_finds():
    text = ScopeText(HOUR)
    text.put(row(1, "evlerimizden geldik"))
    text.put(row(2, "kahve"))
    found = text.count_characters(asked("evlerimiz", language="tr")).often.sum(axis=0)
    assert found[0] > 0 == found[1]


def test_speakers_and_languages_are_those_of_the_rows_that_are_there():
    text = ScopeText(HOUR)
    text.put(row(1, speaker="Ada", language="en"))
    text.put(row(2, speaker="Ben", language="de"))
    text.remove([2])
    text.put(row(1, speaker="Eve", language="en"))
    assert (dict(text.speakers), dict(text.languages)) == ({"Eve": 1}, {"en": 1})


def test_keys_are_found_in_any_order():
    keys = np.array([30, 10, 20], dtype=np.int64)
    assert place_of(keys, np.array([10, 99, 30], dtype=np.int64)).tolist() == [1, -1, 0]
    assert place_of(keys[:0], keys).tolist() == [-1, -1, -1]


steps = st.lists(
    st.tuples(st.integers(1, 12), st.sampled_from(["tea", "green tea", "a walk home", ""]), st.integers(0, 5),
              st.sampled_from(["", "a", "b"]), st.booleans()),
    max_size=40,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(steps)
def test_a_history_of_changes_leads_to_the_same_index_as_its_outcome(history):
    lived, outcome = ScopeText(HOUR), {}
    for key, text, said, session, stays in history:
        if stays:
            outcome[key] = row(key, text, said * HOUR, session)
            lived.put(outcome[key])
        else:
            outcome.pop(key, None)
            lived.remove([key])
    fresh = ScopeText(HOUR)
    for one in outcome.values():
        fresh.put(one)
    assert links(lived) == links(fresh)
    for word in ("tea", "walk"):
        counted = []
        for text in (lived, fresh):
            often = text.count_words(asked(word)).often[0]
            counted.append(
                {int(key): float(n) for key, n, alive in zip(text.keys(), often, text.alive(), strict=True) if alive}
            )
        assert counted[0] == counted[1]


def test_when_a_quarter_is_gone_the_rest_stands_as_if_nothing_else_had_been_there():
    text, fresh = ScopeText(HOUR), ScopeText(HOUR)
    rows = {
        key: row(
            key, f"tea number{key} tea", key * HOUR, ["", "a", "b"][key % 3], speaker=f"s{key % 5}", turn=key % 7 > 0,
            language=["en", "de"][key % 2], asks=key % 4 == 0, importance=key / 300, uses=key,
        )
        for key in range(1, 201)
    }  # fmt: skip
    for one in rows.values():
        text.put(one)
    gone = [key for key in rows if key % 2 == 0]
    text.remove(gone)
    text.put(row(1, "coffee", 2, "a", speaker="Eve", language="tr"))
    for one in [rows[key] for key in rows if key not in gone and key != 1]:
        fresh.put(one)
    fresh.put(row(1, "coffee", 2, "a", speaker="Eve", language="tr"))
    # The words of what is gone are gone with it: it was made anew.
    assert len(text.keys()) < 120
    assert text.nbytes < 1.5 * fresh.nbytes
    assert links(text) == links(fresh)
    assert (text.speakers, text.languages) == (fresh.speakers, fresh.languages)
    for word in ("tea", "number3", "number4", "coffee"):
        assert told(text, word) == told(fresh, word)
    # What is the same stays where it is.
    before = len(text.keys())
    text.put(rows[3])
    assert len(text.keys()) == before


def told(text: ScopeText, word: str) -> dict[int, tuple[float, ...]]:
    """Key -> how often a word stands in it, and what else is known of the row."""
    names = ("words", "characters", "said_at_us", "turn", "asks", "importance", "uses", "session_id", "valid_until_us")
    columns, often = text.columns(), text.count_words(asked(word)).often[0]
    return {
        int(columns["key"][at]): (float(often[at]), *(float(columns[name][at]) for name in names))
        for at in np.flatnonzero(text.alive())
    }


def test_scores_do_not_depend_on_what_other_scopes_hold():
    alone, crowded = InvertedTextIndex(), InvertedTextIndex()
    for index in (alone, crowded):
        index.put(1, ADA, ["green", "tea"])
        index.put(2, ADA, ["black", "coffee"])
    for key in range(3, 60):
        crowded.put(key, BEN, ["tea"] * 5)
    assert list(alone.ranked(["tea"], [ADA])) == list(crowded.ranked(["tea"], [ADA]))


def test_what_was_read_ahead_is_not_read_by_the_question(truth):
    for key in range(1, 6):
        truth.write(key, memory(key, "green tea"))
    texts, rests = opened(truth), []
    assert texts.prepare(ADA, lambda: rests.append(truth.read))
    before = truth.read
    assert holding(texts, "tea") == [1, 2, 3, 4, 5]
    assert truth.read == before
    # Too few for a rest.
    assert rests == []


def test_reading_ahead_rests_until_somebody_waits_for_it(truth):
    for key in range(1, 402):
        truth.write(key, memory(key % 250, "green tea"))
    texts, rests, found = opened(truth), [], []
    asking = threading.Thread(target=lambda: found.append(len(holding(texts, "tea"))))

    def rest():
        rests.append(len(rests))
        if len(rests) == 2:
            asking.start()
            deadline = time.monotonic() + 30
            while not texts.awaited(ADA) and time.monotonic() < deadline:
                threading.Event().wait(0.001)

    assert texts.prepare(ADA, rest)
    asking.join(30)
    assert found == [401]
    assert rests == [0, 1]


def test_nothing_is_read_ahead_where_there_is_no_room(truth):
    truth.write(1, memory(1, "green tea"))
    texts = opened(truth, cache_bytes=0)
    assert not texts.prepare(ADA, lambda: None)
    assert truth.read == 0
