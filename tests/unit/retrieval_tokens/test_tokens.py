"""Tokens of the text index, in several scripts."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.retrieval.tokens import STEMMERS, bigrams, fold, index_tokens, query_tokens

LANGUAGES = ("", *sorted(STEMMERS), "zh", "ja", "th")


@pytest.mark.parametrize(
    ("said", "asked", "language"),
    [
        ("We were running late for the meetings", "meeting", "en"),
        ("Die Häuser standen in den Straßen", "Haus Straße", "de"),
        ("Ankara'daki evleri çok seviyorum", "evler", "tr"),
        ("Les chevaux mangeaient", "manger", "fr"),
        ("Las niñas corrían", "corriendo", "es"),
        ("Le ragazze parlavano", "parlare", "it"),
        ("As crianças brincavam", "brincar", "pt"),
        ("De kinderen speelden", "spelen", "nl"),
        ("Мы читали книги", "книга", "ru"),
        ("ذهبت إلى المكتبات", "المكتبة", "ar"),
    ],
)
def test_another_form_of_a_word_finds_it(said, asked, language):
    assert set(index_tokens(said, language)) & set(query_tokens(asked, (language,)))


UNSPACED = [
    ("我住在北京大学附近", "北京"),
    ("東京に住んでいます", "東京"),
    ("ฉันอาศัยอยู่ในกรุงเทพ", "กรุงเทพ"),
    ("서울에서 살아요", "서울"),
]


@pytest.mark.parametrize(("said", "asked"), UNSPACED)
def test_a_word_inside_unspaced_writing_is_found(said, asked):
    wanted = query_tokens(asked, ("",))
    assert wanted
    assert set(wanted) <= set(index_tokens(said))


def test_a_question_of_one_han_character_finds_the_texts_that_hold_it():
    assert set(query_tokens("茶", ("",))) <= set(index_tokens("我喜欢喝茶"))


def test_turkish_capitals_fold_to_their_own_small_letters():
    assert fold("IŞIK İZMİR", "tr") == "ışık izmir"
    assert index_tokens("IŞIK", "tr") == index_tokens("ışık", "tr")
    assert index_tokens("İzmir", "tr") == index_tokens("izmir", "tr") == index_tokens("IZMIR", "en")


def test_a_turkish_word_typed_on_another_keyboard_is_found():
    assert set(query_tokens("Işik", ("en",))) & set(index_tokens("ışık", ""))


@pytest.mark.parametrize(("text", "expected"), [
    ("I don't know", ["i", "don", "know"]),
    ("l'homme", ["homm"]),
    ("C++ and C# but not #1", ["cplusplus", "and", "csharp", "but", "not", "1"]),
    ("snake_case, dash-ed; 3.14!", ["snake", "case", "dash", "ed", "3", "14"]),
    ("ﬁne ＡＢＣ", ["fine", "abc"]),
    ("हिन्दी में", ["हिन्दी", "में"]),
])  # fmt: skip
def test_signs_and_compositions_become_plain_words(text, expected):
    assert index_tokens(text, "fr" if "homme" in text else "") == expected


def test_ignored_words_count_where_nothing_else_is_left():
    ignored = frozenset({"the", "who"})
    assert query_tokens("The Who", ("en",), ignored) == ["the", "who"]
    assert query_tokens("the tea", ("en",), ignored) == ["tea"]


@given(st.text(max_size=60), st.sampled_from(LANGUAGES))
def test_tokens_hold_only_what_a_plain_tokenizer_leaves_whole(text, language):
    for token in index_tokens(text, language):
        assert token
        assert all(ord(letter) > 127 or letter.isalnum() for letter in token)


@given(st.text(max_size=60), st.sampled_from(LANGUAGES))
def test_a_text_finds_itself(text, language):
    indexed = set(index_tokens(text, language))
    assert indexed == set() or indexed & set(query_tokens(text, (language,)))
    assert indexed >= set(query_tokens(text, (language,))) - set(query_tokens(text, ()))


@given(st.text(alphabet=st.characters(max_codepoint=0x24F), max_size=60), st.sampled_from(("en", "de", "fr", "nl")))
def test_composed_and_decomposed_writing_give_the_same_tokens(text, language):
    decomposed, composed = unicodedata.normalize("NFD", text), unicodedata.normalize("NFC", text)
    assert index_tokens(decomposed, language) == index_tokens(composed, language)


@given(st.text(alphabet="abcçdefgğhıijklmnoöprsştuüvyz ", max_size=40))
def test_turkish_writing_in_capitals_gives_the_same_tokens(text):
    capitals = text.replace("i", "İ").replace("ı", "I").upper()
    assert index_tokens(capitals, "tr") == index_tokens(text, "tr")


@given(st.text(min_size=1, max_size=20))
def test_bigrams_cover_every_character_in_order(run):
    pairs = bigrams(run)
    assert len(pairs) == max(1, len(run) - 1)
    assert pairs[0] + "".join(pair[-1] for pair in pairs[1:]) == run


@pytest.mark.parametrize("text", ["a" * 1_000_000, "a'" * 500_000, "东" * 300_000, "ı." * 300_000, "+" * 1_000_000])
def test_a_message_of_a_million_characters_becomes_tokens_of_bounded_length(text):
    assert all(len(token) <= 70 for token in index_tokens(text, "en"))
