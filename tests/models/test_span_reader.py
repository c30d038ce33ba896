"""The shipped span reader, and how passages become tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aico_memory.bench.facts.run import run_streams
from aico_memory.bench.facts.streams import Asked, Said, Stream, load_streams
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.deciding import Reader
from aico_memory.domain.recall.reading.passage import MARKS, Passage
from aico_memory.errors import ConfigurationInvalid, ModelUnavailable
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.reader_trust import load_trust, read_trust
from aico_memory.models.span_reader import FOLDER, MAX_TOKENS, SpanReader, encode, load_span_reader, open_tokenizer
from aico_memory.models.twin import HashedEmbedder
from aico_memory.models.weights import TOKENIZER_FILE
from aico_memory.paths import Home, find_home, shipped_config

DAY = 86_400_000_000
START = 1_772_000_000_000_000


@pytest.fixture(scope="module")
def reader() -> SpanReader:
    return load_span_reader(find_home())


@pytest.fixture(scope="module")
def believed(reader: SpanReader) -> Reader:
    return Reader(reader, load_trust(find_home()))


@pytest.fixture(scope="module")
def tables() -> FormationTables:
    return load_formation_tables(find_home())


def passage(question: list[str], *messages: list[str]) -> Passage:
    words = [*question, *(word for message in messages for word in message)]
    places = [-1] * len(question) + [at for at, message in enumerate(messages) for _ in message]
    return Passage(tuple(words), np.array(places), np.zeros((len(words), len(MARKS)), dtype=np.int8), ())


def test_words_lie_on_their_tokens_and_messages_are_set_apart(reader: SpanReader) -> None:
    tokenizer = open_tokenizer(shipped_config() / FOLDER / TOKENIZER_FILE)
    read = passage(["Where?"], ["Überlingen,", "since", "May."], ["Sunny."])
    encoded = encode(read, tokenizer)
    tokens = [tokenizer.id_to_token(int(token)) for token in encoded.tokens]
    assert tokens[0] == "[CLS]"
    assert tokens.count("[SEP]") == 3
    assert tokens[-1] == "[SEP]"
    for at, word in enumerate(read.words):
        said = "".join(tokens[encoded.first[at] : encoded.last[at] + 1]).replace("##", "")
        assert said == word.lower().replace("ü", "u")
    assert len(encoded.marks) == len(encoded.tokens)


def test_what_finds_no_room_is_cut(reader: SpanReader) -> None:
    tokenizer = open_tokenizer(shipped_config() / FOLDER / TOKENIZER_FILE)
    read = passage(["Where?"], ["Überlingen"] * 2_000)
    encoded = encode(read, tokenizer)
    assert len(encoded.tokens) == MAX_TOKENS
    assert encoded.last.max() == MAX_TOKENS - 1
    assert 0 < len(reader(read).runs) <= 32
    nothing = reader(passage(["Where?"]))
    assert (nothing.runs, nothing.others) == ((), ())


def test_a_folder_without_a_network_is_a_typed_error_that_says_the_mend(tmp_path: Path) -> None:
    home = Home(tmp_path)
    own = home.config / FOLDER
    own.mkdir(parents=True)
    with pytest.raises(ModelUnavailable, match="span reader") as error:
        load_span_reader(home)(passage(["Where?"], ["Bern."]))
    assert "recall.reader" in error.value.mend


@pytest.mark.parametrize("content", ["options: {}", "options: {read: {one: high}, rules: {}, silence: {}}", "read: {one: 1}"])
def test_weights_that_say_nothing_are_a_typed_error_that_says_the_mend(tmp_path: Path, content: str) -> None:
    file = tmp_path / "trust.yaml"
    file.write_text(content)
    with pytest.raises(ConfigurationInvalid, match="read, rules, silence") as error:
        read_trust(file)
    assert "train_reader_trust" in error.value.mend


def test_the_shipped_reader_says_where_it_comes_from(reader: SpanReader) -> None:
    assert reader.recipe.languages == ("de", "en", "tr")
    assert {"data", "split", "scores", "date", "seed", "encoder"} <= set(reader.recipe.provenance)


@pytest.mark.parametrize(
    ("language", "texts", "asked", "expected"),
    [
        (
            "en",
            ["Dropped the bike off at Harlow's.", "Sunny."],
            "Where is the bike?",
            "Harlow's",
        ),
        ("de", ["Das Fahrrad hab ich bei der Werkstatt Lorenz abgegeben."], "Welche Werkstatt hat mein Fahrrad?", "Lorenz"),
        ("tr", ["Bisikletimi Yıldız Bisiklet'e bıraktım."], "Bisikletim nerede?", "Yıldız Bisiklet"),
    ],
)
def test_what_no_rule_reads_is_read(
    tables: FormationTables, believed: Reader, language: str, texts: list[str], asked: str, expected: str
) -> None:
    said = tuple(Said(START + at * DAY, text) for at, text in enumerate(texts))
    stream = Stream("one", language, "develop", START + 9 * DAY, said, (Asked(None, asked, (expected,)),))
    (tally,) = run_streams([stream], tables, HashedEmbedder(), believed).values()
    assert tally.right["recall"]["now"] == 1, tally.misses


@pytest.mark.parametrize(
    ("language", "texts", "asked"),
    [
        ("en", ["I live in Leeds."], "Where do I work?"),
        ("en", ["I live in Leeds.", "My favourite colour is green."], "What is my dog called?"),
        ("en", ["My sister Ana lives in Rome."], "What is my sister's job?"),
        ("en", ["The rent is 800 euros."], "How much is the gym?"),
        ("en", ["My locker code is 4471.", "The locker code was never 4471, I made that up."], "What is my locker code?"),
        ("de", ["Ich wohne in Ulm."], "Wo arbeite ich?"),
        ("de", ["Mein Bruder Tom ist Koch."], "Wie heißt meine Schwester?"),
        ("tr", ["Bursa'da yaşıyorum."], "Nerede çalışıyorum?"),
        ("tr", ["Kedimin adı Pamuk."], "Köpeğimin adı ne?"),
    ],
)  # fmt: skip
def test_what_was_never_said_is_not_answered(
    tables: FormationTables, believed: Reader, language: str, texts: list[str], asked: str
) -> None:
    said = tuple(Said(START + at * DAY, text) for at, text in enumerate(texts))
    stream = Stream("one", language, "develop", START + 9 * DAY, said, (Asked(None, asked, ()),))
    (tally,) = run_streams([stream], tables, HashedEmbedder(), believed).values()
    assert tally.right["recall"]["now"] == 1, tally.misses


def test_the_reader_costs_the_development_streams_little(tables: FormationTables, believed: Reader) -> None:
    streams = [one for one in load_streams() if one.half == "develop"][::8]
    for (language, _), tally in run_streams(streams, tables, HashedEmbedder(), believed).items():
        assert tally.share("recall", "now") >= 0.9, (language, tally.misses)
        assert tally.share("recall", "then") >= 0.9, (language, tally.misses)
