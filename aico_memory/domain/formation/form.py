"""The formation step: one message in, what was noticed and what it states out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aico_memory.domain.formation.formed import Formed
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.language_choice import choose_grammar
from aico_memory.domain.formation.statements import read_statements


def form(
    text: str,
    *,
    role: str,
    speaker: str,
    said_at_us: int,
    zone: str,
    recent: Sequence[str],
    tables: FormationTables,
    language: str = "",
) -> Formed:
    """What the message states; `recent` are the messages before it, the newest last. Filters are named, never obeyed here."""
    grammar = choose_grammar(text, recent, tables, language)
    if grammar is None or role != "user":
        return Formed(language=grammar.code if grammar else "")
    read = read_statements(text, grammar, tables, said_at_us, zone, recent)
    facts = tuple(replace(fact, excerpt=fact.excerpt[:300]) for fact in read.facts)
    return Formed(
        facts=facts,
        foresight=tuple(read.plans),
        language=grammar.code,
        strong=read.strong or bool(facts),
        trace=tuple(read.trace),
    )
