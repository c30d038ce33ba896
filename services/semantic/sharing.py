"""Facts as they stand in a scope of several people."""

from __future__ import annotations

from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.ownerless import said_of_a_thing
from aico_memory.domain.scopes import shared


class Sharing:
    """Whose each fact is that somebody tells several: the speaker's, a relative's of theirs, or of all."""

    def __init__(self, tables: FormationTables) -> None:
        self._grammars = tables.grammars
        self._relations = frozenset(noun for grammar in tables.grammars.values() for noun in grammar.relations)

    def told(self, fact: FormedFact, text: str, owner: str, speaker: str) -> FormedFact:
        """A fact of the message `text`, told by `owner` under the name `speaker` (or none)."""
        grammar = self._grammars.get(fact.language)
        of_all = said_of_a_thing(fact, text, grammar) if grammar else ""
        return shared(fact, owner, speaker, self._relations, of_all)
