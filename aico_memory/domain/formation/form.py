"""The formation step: one message in, what was noticed and what it states out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from aico_memory.domain.formation.apart import told_apart
from aico_memory.domain.formation.entities import Gazetteer, extract_entities
from aico_memory.domain.formation.formed import Formed, FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.instructing import INSTRUCTION, instructed
from aico_memory.domain.formation.language_choice import choose_grammar
from aico_memory.domain.formation.observe import classes_of, density_of, emotion_of, filters_of, speaks_of_the_machine, stopping
from aico_memory.domain.formation.statements import read_statements
from aico_memory.domain.formation.wording import readable, squeeze, with_stops

# A message that tries to give orders, or speaks of the machine that is to follow them, may tell facts, but never binding ones.
BINDING_KINDS = frozenset({"constraint", "preference", "procedure"})
# Feeling this strong makes a message go the fast path at once.
STRONG_AROUSAL = 0.8
UNBOUND = "the machine itself is spoken of: nothing binds"
SPELLED = "spelled like an attempt to give orders ({score:.2f}, from {threshold:.2f} on): nothing binds"
HELD_BACK = "no item is made of what a filter holds back"
_NO_NAMES = Gazetteer({}, frozenset())
_PRONOUNS = re.compile(r"\b(?:[Hh]e|[Ss]he|[Ee]r|[Ss]ie)\b(?= \w)")


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
    gazetteer: Gazetteer = _NO_NAMES,
) -> Formed:
    """What the message says; `recent` are the messages before it, the newest last. A filtered message states nothing.

    Statements are read from what a person says (`role` user); what the assistant says is observed only.
    """
    filtered = filters_of(text, tables.signals, tables.observe)
    stopped = stopping(text, filtered, tables.observe)
    orders = "prompt_injection" in filtered or speaks_of_the_machine(text, tables.signals)
    text, recent = readable(text), [readable(one) for one in recent]
    grammar = choose_grammar(text, recent, tables, language)
    code = grammar.code if grammar else language
    entities = extract_entities(text, gazetteer, code, tables.form.entities)
    classes = classes_of(text, code, tables.signals, len(entities), tables.observe)
    emotion = emotion_of(text, code, tables.signals)
    facts: tuple[FormedFact, ...] = ()
    plans: tuple[FormedFact, ...] = ()
    trace = [f"filter {name}" for name in filtered] + [f"class {name} {score:.2f}" for name, score in classes]
    trace += [UNBOUND] if orders and "prompt_injection" not in filtered else []
    strong = emotion.arousal >= STRONG_AROUSAL
    resolved = squeeze(text[:500])
    if stopped:
        trace.append(f"{HELD_BACK}: {', '.join(stopped)}")
    elif grammar is not None and role == "user":
        # Who tries a trick gives no orders.
        asked, told = ((), text) if orders else instructed(text, grammar, said_at_us)
        read = read_statements(told, grammar, tables, said_at_us, zone, recent)
        rule = tables.injection.get(grammar.code)
        # Only what would bind is worth a look at how it is spelled; in which language or at what length to answer harms nobody.
        of_no_topic = [fact for fact in asked if fact.predicate == INSTRUCTION]
        binding = of_no_topic or any(fact.kind in BINDING_KINDS for fact in (*read.facts, *read.plans))
        if rule is not None and binding and not orders and (score := rule.score(text)) >= rule.threshold:
            orders = True
            trace.append(SPELLED.format(score=score, threshold=rule.threshold))
            if asked:
                asked, told = (), text
                read = read_statements(told, grammar, tables, said_at_us, zone, recent)
        apart = told_apart(read.facts, grammar.tellings, grammar.relations, told, said_at_us)
        # "The fridge is here" says that there is one, and nothing of it.
        telling = [fact for fact in (*asked, *apart) if fact.value or fact.act != "assert"]
        facts = tuple(_finished(fact, entities, orders, told) for fact in telling)
        trace += [f"standing instruction: {fact.value[:80]}" for fact in asked]
        plans = tuple(_finished(fact, entities, orders, told) for fact in read.plans)
        strong = strong or read.strong or bool(facts)
        trace += read.trace
        if read.last_party is not None and read.last_party.name:
            resolved = _PRONOUNS.sub(read.last_party.name, resolved)
    corrections = sum(fact.act != "assert" for fact in facts) + any(name == "correction" for name, _ in classes)
    timed = sum(fact.temporal_type == "time_bounded" for fact in (*facts, *plans))
    return Formed(
        facts=facts,
        filtered=filtered,
        classes=classes,
        density=density_of(
            entities, len({(fact.subject, fact.predicate, fact.object_key) for fact in facts}), timed, corrections
        ),
        valence=emotion.valence,
        arousal=emotion.arousal,
        emotion=emotion.category,
        foresight=plans,
        resolved_text=resolved,
        language=code,
        strong=strong,
        orders=orders,
        trace=tuple(trace),
    )


def _finished(fact: FormedFact, entities: tuple[str, ...], orders: bool, told: str) -> FormedFact:
    """With its entities, its value as it was said; what is binding becomes a plain fact where the message smells of a trick."""
    kind = "fact" if orders and fact.kind in BINDING_KINDS else fact.kind
    return replace(fact, value=with_stops(fact.value, told), entities=entities, kind=kind, excerpt=fact.excerpt[:300])
