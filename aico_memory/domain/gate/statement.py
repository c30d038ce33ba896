"""A formed statement with who said it when, and the item it is compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from aico_memory.domain.formation.fact_key import fact_key, normalise_fact_key
from aico_memory.domain.formation.formed import NEWEST, FormedFact
from aico_memory.domain.memory import OPEN, Memory, Scope

# Acts that take something away and bring nothing.
CLOSING: Final = frozenset({"end", "retract"})
# Said by nobody: a person deleted the item, which is a demand and no statement about the world.
WITHDRAW: Final = "withdraw"
# Said by nobody: nothing confirmed the value for so long that it is no longer held for true.
LAPSE: Final = "lapse"
# Said by nobody: an operator brought the item back, which was superseded, expired or disabled.
RESTORE: Final = "restore"
UNSAID: Final = frozenset({WITHDRAW, LAPSE, RESTORE})


@dataclass(frozen=True, slots=True)
class Statement:
    """One fact as it was said. Its id is the id of the item it makes, if it makes one."""

    statement_id: bytes
    event_id: bytes
    # Place among the statements of its message.
    place: int
    scope: Scope
    owner: str
    said_at_us: int
    received_at_us: int
    fact: FormedFact
    confidence: float
    importance: float = 0.0
    # user | assistant | tool | system
    role: str = "user"
    session_id: str = ""
    group_id: str = ""
    project_id: str = ""
    speaker: str = ""
    write_source: str = "formation"
    valence: float = 0.0
    arousal: float = 0.0
    emotion: str = "none"
    flashbulb: bool = False
    # A JSON object: the metadata of its message and, where a model read it, which one; goes with its evidence.
    metadata_json: str = ""
    # Place on the bus: tells apart what was said at one moment, which need not be a microsecond.
    heard: int = 0

    @property
    def order(self) -> tuple[int, int, bytes, int]:
        """Statements are ordered by when they were said, whenever they arrive; those of one moment as they arrived."""
        return self.said_at_us, self.heard, self.event_id, self.place

    @property
    def key(self) -> str:
        return key_of(self.fact)

    @property
    def by_user(self) -> bool:
        return self.role == "user"


def key_of(fact: FormedFact) -> str:
    """The key under which it meets what is known; of a text without a reading, the text itself."""
    if not fact.predicate:
        return normalise_fact_key(fact.text)
    # What ends or is taken back is named by what was said of it.
    object_key = (fact.corrected or fact.object_key) if fact.act in CLOSING else fact.object_key
    return fact_key(fact.subject, fact.predicate, object_key, fact.single_valued)


def in_chains(statement: Statement, closing_id: bytes) -> tuple[Statement, ...]:
    """The statement as each chain of a key sees it.

    What replaces one value of a multi-valued predicate closes that value in its own
    chain, under `closing_id`, and tells the other in another chain: a correction
    ("not tea but coffee") takes it back, a change ("from tea to coffee") ends it.
    """
    fact = statement.fact
    if fact.act in CLOSING or fact.single_valued or not fact.predicate or not (fact.corrected or fact.act == "correct"):
        return (statement,)
    told = replace(statement, fact=replace(fact, act="assert", corrected=""))
    if fact.corrected in {"", NEWEST, fact.object_key}:
        return (told,)
    act = "retract" if fact.act == "correct" else "end"
    closed = replace(fact, act=act, object_key=fact.corrected, valid_until_us=OPEN)
    return replace(statement, statement_id=closing_id, fact=closed), told


def says_the_same(new: Statement, other: Statement) -> bool:
    """Whether both speak of one value of their key: a statement by what states it, too, an end by whatever names it."""
    if new.fact.act in CLOSING:
        named = new.fact.corrected or new.fact.object_key
        return not named or named in {other.fact.object_key, other.fact.corrected}
    return other.fact.act not in CLOSING | UNSAID and other.fact.object_key == new.fact.object_key


def withdrawal(statement: Statement, statement_id: bytes, event_id: bytes, at_us: int, heard: int) -> Statement:
    """What a deletion leaves among the statements of its key, so that the same said again is a new item."""
    fact = replace(statement.fact, act=WITHDRAW, corrected="", valid_until_us=OPEN)
    return replace(statement, statement_id=statement_id, event_id=event_id, said_at_us=at_us, heard=heard, fact=fact)


def lapse(statement: Statement, statement_id: bytes, event_id: bytes, ended_us: int, at_us: int) -> Statement:
    """What running out leaves among the statements of its key, so that whatever is said later finds it ended.

    It was decided at `at_us` by the clock that also tells when statements were received, on everything received by then.
    """
    fact = replace(statement.fact, act=LAPSE, corrected="", valid_from_us=ended_us, valid_until_us=OPEN)
    return replace(statement, statement_id=statement_id, event_id=event_id, said_at_us=at_us, received_at_us=at_us, fact=fact)


def restoration(statement: Statement, from_us: int, statement_id: bytes, event_id: bytes, at_us: int, heard: int) -> Statement:
    """What bringing an item back leaves among the statements of its key; the item holds from `from_us` on, as before."""
    fact = replace(statement.fact, act=RESTORE, corrected="", valid_from_us=from_us, valid_until_us=OPEN)
    return replace(
        statement, statement_id=statement_id, event_id=event_id, said_at_us=at_us, received_at_us=at_us, heard=heard, fact=fact
    )


@dataclass(frozen=True, slots=True)
class Known:
    """A stored item with its reading; subject and predicate are empty where it has none."""

    memory: Memory
    subject: str = ""
    predicate: str = ""
    object_key: str = ""
    single_valued: bool = False
    # The object as it was said.
    value: str = ""
    # Whether it stood in the prompt that the message answers.
    injected: bool = False


class Neighbour(NamedTuple):
    """An item of the same scope and its cosine similarity to the new statement."""

    known: Known
    similarity: float
