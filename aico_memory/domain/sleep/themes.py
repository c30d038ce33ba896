"""Summaries: of a cluster of items (theme), and of all items of a kind. Specification 5, phases 10 and 13."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from aico_memory.domain.kinds import DAY_US, kept_for_good
from aico_memory.domain.lifecycle import may_fade
from aico_memory.domain.memory import OPEN, Memory
from aico_memory.domain.sleep.clusters import Cluster, Piece
from aico_memory.domain.sleep.derived import SUMMARY, Draft, entities_of, language_of
from aico_memory.domain.sleep.extracting import Words, extract, title_of
from aico_memory.settings.knowledge import KnowledgeSettings
from aico_memory.settings.memory_model import KindsSettings

THEME: Final = "theme:"
OF_KIND: Final = "kind:"


def theme_of(
    cluster: Cluster, words_of: Words, at_us: int, threshold: float, figures: KnowledgeSettings, kinds: KindsSettings
) -> Draft:
    """The summary of a cluster: its title is the entity that its items share, its text their own sentences.

    `threshold` is the floating one of forgetting (mean access count): what is used more stays on its own.
    """
    texts = [one.memory.text for one in cluster.pieces]
    title = title_of([cluster.entity], texts) if cluster.entity else ""
    told = extract(cluster.pieces, words_of, figures.theme_sentences, figures.theme_characters, title)
    held = [one for one in told.whole if is_held(one, at_us, threshold, figures, kinds)]
    covered = tuple(one.memory.memory_id for one in held if not one.known.predicate)
    resting = tuple(one.memory.memory_id for one in held if one.known.predicate)
    known = [one.known for one in told.sources]
    return Draft(
        f"{THEME}{cluster.name}", SUMMARY, told.text, language_of(known), figures.theme_importance, entities_of(known),
        tuple(one.memory.memory_id for one in told.sources), covered, cluster.rule,
        f"{len(cluster.pieces)} items, {len(told.sources)} told", resting,
    )  # fmt: skip


def is_held(one: Piece, at_us: int, threshold: float, figures: KnowledgeSettings, kinds: KindsSettings) -> bool:
    """Whether an item that a summary holds word by word needs to be awake no more on its own.

    Not where it bounds its own time, is anchored, of a kind that is kept for good, fresh, or used
    more than most. What has no reading gives way; what has one only rests, since questions for
    facts are answered by it and its key decides what contradicts it.
    """
    memory = one.memory
    return (
        may_fade(memory)
        and not memory.flashbulb
        and memory.valid_until_us == OPEN
        and not kept_for_good(memory.kind, kinds)
        and at_us - _since_us(memory) >= figures.covered_days * DAY_US
        and memory.access_count <= threshold
    )


def kinds_due(pieces: Iterable[Piece], figures: KnowledgeSettings) -> dict[str, tuple[Piece, ...]]:
    """Items by kind, of the kinds that have enough of them for a summary; in the order of saying."""
    of_kind: dict[str, list[Piece]] = {}
    for one in sorted(pieces, key=lambda piece: piece.order):
        of_kind.setdefault(one.memory.kind, []).append(one)
    return {kind: tuple(of_kind[kind]) for kind in sorted(of_kind) if len(of_kind[kind]) >= figures.kind_items}


def summary_of_kind(kind: str, pieces: Sequence[Piece], title: str, words_of: Words, figures: KnowledgeSettings) -> Draft:
    """The summary of a kind; `title` is what the kind is called in the items' language. No item gives way to it."""
    told = extract(pieces, words_of, figures.theme_sentences, figures.theme_characters, title)
    known = [one.known for one in told.sources]
    return Draft(
        f"{OF_KIND}{kind}", SUMMARY, told.text, language_of([one.known for one in pieces]), figures.theme_importance,
        entities_of(known), tuple(one.memory.memory_id for one in told.sources), (), "kind",
        f"{len(pieces)} items of kind {kind}, {len(told.sources)} told",
    )  # fmt: skip


def _since_us(memory: Memory) -> int:
    return max(memory.created_at_us, memory.last_accessed_us, memory.last_referenced_us)
