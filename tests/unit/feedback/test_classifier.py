"""Sorting feedback text: features, regressions, and how spelling and embedding are fused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.feedback.classifier import SPELLING, FeedbackClassifier, matching, softmax
from aico_memory.domain.feedback.meaning import Linear, Meaning, Voice, fit_linear
from aico_memory.domain.feedback.phrases import CATEGORIES, NONE, Phrase, phrases_of
from aico_memory.domain.feedback.spelling import Spelling, targets_of
from aico_memory.domain.text_regression.grams import Grams, plain, runs
from aico_memory.domain.text_regression.ridge import dense_ridge, sparse_ridge

PHRASES = tuple(
    Phrase(language, category, text)
    for language, category, text in (
        ("en", "too_verbose", "That was far too long."),
        ("en", "too_verbose", "Too long, keep it short."),
        ("en", "too_brief", "I need more detail."),
        ("en", "too_brief", "More detail, please."),
        ("en", "wrong_tone", "You are rude to me."),
        ("en", "wrong_tone", "Such a rude answer."),
        ("en", "not_helpful", "This does not help."),
        ("en", "not_helpful", "It does not help at all."),
        ("en", "incorrect_info", "The year is wrong."),
        ("en", "incorrect_info", "That year is simply wrong."),
        ("en", "none", "Thank you so much."),
        ("en", "none", "Great, thank you."),
        ("de", "too_verbose", "Das war viel zu lang."),
        ("de", "too_verbose", "Zu lang, fass dich kurz."),
        ("de", "none", "Vielen Dank dafür."),
        ("de", "none", "Danke, vielen Dank."),
        ("zh", "too_verbose", "太长了,看不完"),
        ("zh", "too_verbose", "实在太长了"),
        ("zh", "none", "谢谢你"),
        ("zh", "none", "好的,谢谢"),
    )
)


@pytest.fixture(scope="module")
def spelling():
    return Spelling(PHRASES, 0.3)


def voice(category, share=1.0):
    """Says one category, whatever the vector is."""
    mean = np.zeros(len(CATEGORIES), dtype=np.float32)
    mean[CATEGORIES.index(category)] = 1
    return Voice(Linear(np.zeros((2, len(CATEGORIES)), dtype=np.float32), mean), share, 6.0)


def test_runs_do_not_cross_the_edge_of_a_word_and_mark_it():
    found = list(runs("Ab c"))
    assert {" ab", "ab ", " c "} <= set(found)
    assert not any("b c" in run for run in found)


def test_neighbouring_words_are_a_pair_without_their_punctuation():
    assert {"not_long", "long_enough"} <= set(runs("Not long enough!"))
    assert list(runs("")) == []


def test_of_unspaced_writing_a_passage_is_a_word():
    assert {"太长", "长了", "太长了"} <= set(runs("太长了"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ça ne marche pas", "ca ne marche pas"),
        ("ÇOK UZUN", "cok uzun"),
        ("Yanlış", "yanlis"),
        ("مفيدٌ", "مفيد"),
        ("ＡＢ", "ab"),
    ],
)
def test_what_is_typed_without_marks_reads_the_same(one, other):
    assert plain(one) == plain(other)


def test_marks_that_make_another_letter_stay():
    assert plain("が") != plain("か")
    assert plain("й") != plain("и")


@given(st.text(max_size=80))
def test_any_text_makes_a_row_no_longer_than_one(text):
    columns, values = Grams([phrase.text for phrase in PHRASES]).row(text)
    assert len(columns) == len(values)
    assert float(np.sum(values**2)) <= 1 + 1e-5


def test_the_texts_themselves_have_the_rows_that_they_have_when_asked_for():
    grams = Grams([phrase.text for phrase in PHRASES])
    for number, phrase in enumerate(PHRASES):
        columns, values = grams.row(phrase.text)
        part = grams.rows.part(number, number + 1)
        assert np.array_equal(part.columns, columns) and np.array_equal(part.values, values)
    assert grams.width == len({*grams.rows.columns.tolist()}), "each column stands in a text, and no run of one text has one"


def test_the_sparse_regression_is_that_of_the_whole_matrix():
    grams = Grams([phrase.text for phrase in PHRASES])
    targets = targets_of(PHRASES)
    targets -= targets.mean(axis=0)
    matrix = grams.rows.dense()
    # Each row's missing length is a feature of its own.
    alone = np.diag(np.sqrt(1 - np.sum(matrix**2, axis=1)))
    whole = np.hstack([matrix, alone]).astype(np.float32)
    exact = dense_ridge(whole, targets, 0.3)[: grams.width]
    assert matrix @ sparse_ridge(grams.rows, targets, 0.3) == pytest.approx(matrix @ exact, abs=0.02)


def test_a_part_of_the_rows_is_those_rows():
    rows = Grams([phrase.text for phrase in PHRASES]).rows
    assert np.array_equal(rows.part(3, 7).dense(), rows.dense()[3:7])
    assert np.array_equal(rows.part(18, 99).dense(), rows.dense()[18:])


@pytest.mark.parametrize(
    ("text", "category", "language"),
    [
        ("much too long", "too_verbose", "en"),
        ("viel zu lang", "too_verbose", "de"),
        ("太长了", "too_verbose", "zh"),
        ("谢谢", "none", "zh"),
        ("the year was wrong", "incorrect_info", "en"),
        ("you were rude", "wrong_tone", "en"),
    ],
)
def test_spelling_alone_sorts_and_tells_the_language(spelling, text, category, language):
    found = FeedbackClassifier(spelling, {}, 6.0).sort(text)
    assert (found.category, found.language, found.answered_by) == (category, language, SPELLING)


@given(st.text(max_size=60))
def test_six_scores_between_0_and_1_that_are_1_together(text):
    found = FeedbackClassifier(Spelling(PHRASES, 0.3), {}, 6.0).sort(text)
    assert tuple(found.scores) == CATEGORIES
    assert all(0 <= score <= 1 for score in found.scores.values())
    assert sum(found.scores.values()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("text", ["", "???", " … ", "10/10", "100%", "👍 5"])
def test_what_holds_no_letter_says_nothing(spelling, text):
    found = FeedbackClassifier(spelling, {}, 6.0).sort(text)
    assert (found.category, found.scores[NONE]) == (NONE, 1.0)


def test_the_same_phrases_in_the_same_order_say_the_same(spelling):
    again = Spelling(PHRASES, 0.3)
    assert np.array_equal(spelling.scores("too long, thank you"), again.scores("too long, thank you"))


def test_an_embedding_is_weighed_by_what_its_model_speaks(spelling):
    meaning = Meaning("f|2|1", "tiny", ("en",), voice("wrong_tone", 9.0), voice("none", 9.0), 0.42)
    classifier = FeedbackClassifier(spelling, {"f|2|1": meaning}, 6.0)
    vector = np.array([1.0, 0.0], dtype=np.float32)
    spoken = classifier.sort("much too long", "", vector, "f|2|1")
    foreign = classifier.sort("viel zu lang", "", vector, "f|2|1")
    named = classifier.sort("much too long", "de", vector, "f|2|1")
    assert (spoken.category, foreign.category, named.category) == ("wrong_tone", NONE, NONE)
    assert (spoken.answered_by, spoken.threshold, classifier.lack_of("f|2|1")) == ("spelling + tiny", 0.42, "")


def test_a_model_that_nothing_was_trained_for_is_not_asked(spelling):
    classifier = FeedbackClassifier(spelling, {"f|2|1": Meaning("f|2|1", "tiny", (), voice("none", 9.0), None)}, 6.0)
    found = classifier.sort("much too long", "", np.array([1.0, 0.0], dtype=np.float32), "another|2|1")
    assert (found.category, found.answered_by) == ("too_verbose", SPELLING)


def test_a_model_that_is_not_calibrated_is_not_asked_and_never_counts_by_the_threshold_of_another(spelling):
    one = Meaning("f|2|1", "tiny", (), voice("none", 9.0), None)
    another = Meaning("g|2|1", "other", (), voice("none", 9.0), None, 0.42)
    classifier = FeedbackClassifier(spelling, {"f|2|1": one, "g|2|1": another}, 6.0)
    found = classifier.sort("much too long", "", np.array([1.0, 0.0], dtype=np.float32), "f|2|1")
    assert (found.category, found.answered_by, found.threshold) == ("too_verbose", SPELLING, None)
    assert (classifier.lack_of("f|2|1"), classifier.lack_of("g|2|1")) == ("its weights hold no threshold", "")
    assert classifier.lack_of("another|2|1") == "nothing was trained for it"


def test_a_model_without_named_languages_speaks_every_one():
    meaning = Meaning("f", "m", (), voice("none"), None)
    assert meaning.voice("tr") is meaning.spoken


def test_the_linear_model_finds_what_separates_the_vectors():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0]] * 5, dtype=np.float32)
    phrases = [Phrase("en", name, "x") for name in ("too_verbose", "none")] * 5
    scores = fit_linear(vectors, phrases, 0.1).scores(vectors[:2])
    assert [CATEGORIES[place] for place in scores.argmax(axis=1)] == ["too_verbose", "none"]


def test_several_complaints_may_match_and_none_never_does():
    scores = {"too_verbose": 0.45, "wrong_tone": 0.45, "none": 0.1}
    assert matching(scores, 0.4) == ("too_verbose", "wrong_tone")
    assert matching({"none": 0.9, "too_brief": 0.1}, 0.4) == ()


def test_softmax_holds_for_scores_of_any_size():
    assert softmax(np.array([1000.0, 0.0], dtype=np.float32), 10.0) == pytest.approx([1.0, 0.0])


def test_a_file_without_a_category_names_it():
    content = {"name": "x", "phrases": {name: "a\n" for name in CATEGORIES if name != NONE}}
    with pytest.raises(ValueError, match="none"):
        phrases_of("en", content)
    with pytest.raises(ValueError, match="too_brief"):
        phrases_of("en", {"phrases": {name: "" if name == "too_brief" else "a" for name in CATEGORIES}})
