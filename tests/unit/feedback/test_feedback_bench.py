"""The feedback benchmark: tallies, baselines and bars, on a model without meaning."""

from aico_memory.bench.feedback.report import as_json, as_text
from aico_memory.bench.feedback.run import run_feedback
from aico_memory.domain.feedback.classifier import FeedbackClassifier
from aico_memory.domain.feedback.phrases import CATEGORIES, Phrase
from aico_memory.domain.feedback.spelling import Spelling
from aico_memory.models.twin import HashedEmbedder

WORDS = dict(zip(CATEGORIES, ("lengthy", "short", "rude", "useless", "wrong", "thanks"), strict=True))
PHRASES = [
    Phrase(language, category, text.format(word))
    for language in ("en", "de")
    for category, word in WORDS.items()
    for text in ("{}", "{} indeed", "so {}")
]


def test_every_way_is_scored_on_the_same_sentences_and_bars_are_told():
    classifier = FeedbackClassifier(Spelling(PHRASES, 0.3), {}, 7.0)
    sentences = [Phrase(language, category, f"very {word}") for language in ("en", "de") for category, word in WORDS.items()]
    sentences.append(Phrase("en", "none", "very rude"))
    outcome = run_feedback(PHRASES, sentences, classifier, HashedEmbedder(64), 0.4, lambda _: None)
    result = as_json({}, outcome, "hashed", "", 2)
    assert set(result["ways"]) == {
        "classifier", "n-grams alone", "English centroid at 0.6", "English centroid at its best",
    }  # fmt: skip
    assert result["ways"]["classifier"] == {"en": 0.857, "de": 1.0, "others": 1.0}
    assert result["confusion"]["en"]["none"] == {name: int(name in ("wrong_tone", "none")) for name in CATEGORIES}
    assert [(bar["name"], bar["held"]) for bar in result["bars"]] == [("en", True), ("others", True)]
    assert result["sentences"] == 13
    shown = as_text(result)
    assert "2 left out" in shown
    assert "en: 0.857 (bar 0.7) held" in shown
