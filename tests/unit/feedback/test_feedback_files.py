"""The phrases that come with the code, the held-out sentences beside them, and the weights that were trained."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from aico_memory.bench.feedback.sentences import FOLDER, PARTS, load_sentences
from aico_memory.domain.feedback.classifier import matching
from aico_memory.domain.feedback.phrases import CATEGORIES
from aico_memory.domain.text_regression.grams import plain
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import read_mapping
from aico_memory.models.feedback_tables import (
    TRAINED,
    digest_of,
    load_classifier,
    load_lengths,
    load_meanings,
    load_negations,
    load_phrases,
)
from aico_memory.paths import Home, shipped_config
from aico_memory.settings.behavioral import FeedbackTextSettings

LANGUAGES = ("ar", "de", "en", "es", "fr", "it", "ja", "nl", "pt", "ru", "tr", "zh")
LEAST = 20


@pytest.fixture(scope="module")
def phrases(tmp_path_factory):
    return load_phrases(Home(tmp_path_factory.mktemp("home")))


def test_every_language_has_enough_phrases_of_every_category(phrases):
    counts = Counter((phrase.language, phrase.category) for phrase in phrases)
    assert {language for language, _ in counts} == set(LANGUAGES)
    assert {key: count for key, count in counts.items() if count < LEAST} == {}
    assert len(counts) == len(LANGUAGES) * len(CATEGORIES)


def test_no_phrase_stands_twice_in_a_language(phrases):
    counts = Counter((phrase.language, plain(phrase.text)) for phrase in phrases)
    assert [key for key, count in counts.items() if count > 1] == []


def test_phrases_are_short_enough_to_be_said(phrases):
    assert [phrase.text for phrase in phrases if len(phrase.text) > 300] == []


def test_weights_were_trained_on_the_phrases_that_stand(phrases):
    files = sorted((shipped_config() / TRAINED).glob("*.yaml"))
    assert files
    for path in files:
        told = read_mapping(path)["provenance"]
        assert told["phrases_sha256"] == digest_of(phrases), f"{path}: run scripts/train_feedback.py"


def test_every_shipped_model_has_a_threshold_of_its_own_and_says_how_it_was_found(tmp_path):
    found = load_meanings(Home(tmp_path))
    assert found
    assert all(meaning.threshold is not None and 0.2 < meaning.threshold < 0.6 for meaning in found.values())
    for path in sorted((shipped_config() / TRAINED).glob("*.yaml")):
        content = read_mapping(path)
        told = content["provenance"]["threshold"]
        assert told["on_phrases_left_out"]["threshold"] == content["threshold"]
        assert told["on_phrases_left_out"]["precision"] >= told["wanted_precision"]


def test_weights_without_a_threshold_are_read_as_not_calibrated_and_a_wrong_one_is_refused(tmp_path):
    shipped_file = next(iter(sorted((shipped_config() / TRAINED).glob("*.yaml"))))
    folder = tmp_path / "config" / TRAINED
    folder.mkdir(parents=True)
    content = read_mapping(shipped_file)
    del content["threshold"]
    (folder / shipped_file.name).write_text(yaml.safe_dump(content), encoding="utf-8")
    assert load_meanings(Home(tmp_path))[content["fingerprint"]].threshold is None
    (folder / shipped_file.name).write_text(yaml.safe_dump({**content, "threshold": 3}), encoding="utf-8")
    with pytest.raises(ConfigurationInvalid, match="threshold"):
        load_meanings(Home(tmp_path))


def test_trained_weights_have_the_shape_of_their_model(tmp_path):
    for fingerprint, meaning in load_meanings(Home(tmp_path)).items():
        dimension = int(fingerprint.split("|")[1])
        for voice in (meaning.spoken, meaning.foreign):
            assert voice is None or voice.linear.weights.shape == (dimension, len(CATEGORIES))


def test_a_home_may_have_phrases_of_its_own(tmp_path):
    folder = tmp_path / "config" / "feedback"
    folder.mkdir(parents=True)
    lines = "".join(f"  {name}: |\n    {name} eins\n    {name} zwei\n" for name in CATEGORIES)
    (folder / "de.yaml").write_text(f"name: Deutsch\nphrases:\n{lines}", encoding="utf-8")
    own = load_phrases(Home(tmp_path))
    assert [phrase.text for phrase in own if phrase.language == "de"][:2] == ["too_verbose eins", "too_verbose zwei"]
    (folder / "de.yaml").write_text("name: Deutsch\nphrases: {none: danke}\n", encoding="utf-8")
    with pytest.raises(ConfigurationInvalid, match=r"de\.yaml"):
        load_phrases(Home(tmp_path))


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The classifier of the shipped phrases, by their spelling: no model has to be at hand."""
    return load_classifier(Home(tmp_path_factory.mktemp("home")), FeedbackTextSettings())


@pytest.mark.parametrize(("of_the_answer", "least", "most"), [("elsewhere", 0.0, 0.35), ("answer", 0.8, 1.0)])
def test_what_speaks_of_other_things_is_seldom_read_as_a_complaint_of_the_answer(shipped, phrases, of_the_answer, least, most):
    written = yaml.safe_load((Path(__file__).parent / "elsewhere.yaml").read_text(encoding="utf-8"))[of_the_answer]
    texts = [line for block in written.values() for line in block.splitlines()]
    taught = {plain(phrase.text) for phrase in phrases}
    assert [text for text in texts if plain(text) in taught] == []
    threshold = FeedbackTextSettings().threshold
    read = sum(bool(matching(shipped.sort(text).scores, threshold)) for text in texts)
    assert least <= read / len(texts) <= most


def test_the_shipped_classifier_sorts_what_it_was_taught(shipped, phrases):
    some = phrases[::25]
    right = sum(shipped.sort(phrase.text).category == phrase.category for phrase in some)
    assert right / len(some) > 0.9
    told = sum(shipped.sort(phrase.text).language == phrase.language for phrase in some)
    assert told / len(some) > 0.9


def test_no_held_out_sentence_stands_among_the_phrases(phrases):
    for part in PARTS:
        held_out = load_sentences(FOLDER, part, phrases)
        assert held_out.left_out == 0
        counts = Counter((one.language, one.category) for one in held_out.sentences)
        assert len(counts) == len(LANGUAGES) * len(CATEGORIES), part


def test_what_is_taught_is_not_scored(tmp_path, phrases):
    one = next(phrase for phrase in phrases if phrase.language == "en" and phrase.category == "none")
    lines = "".join(f"{name}: |\n  {name} unheard of\n" for name in CATEGORIES if name != "none")
    (tmp_path / "en.yaml").write_text(f"{lines}none: |\n  {one.text.upper()}\n  unheard of\n", encoding="utf-8")
    held_out = load_sentences(tmp_path, "", phrases)
    assert (len(held_out.sentences), held_out.left_out) == (len(CATEGORIES), 1)
    (tmp_path / "en.yaml").write_text("praise: |\n  thanks\n", encoding="utf-8")
    with pytest.raises(ConfigurationInvalid, match=r"en\.yaml"):
        load_sentences(tmp_path, "", phrases)


@pytest.mark.parametrize(
    ("load", "wrong"),
    [(load_negations, "negation: {words: {}, denials: [no]}"), (load_lengths, "length: {words: {long: no}}")],
    ids=["negation", "length"],
)
def test_a_home_may_have_a_rule_of_its_own(load, wrong, tmp_path):
    folder = tmp_path / "config" / "feedback"
    folder.mkdir(parents=True)
    lines = "".join(f"  {name}: |\n    {name} eins\n    {name} zwei\n" for name in CATEGORIES)
    (folder / "de.yaml").write_text(f"phrases:\n{lines}", encoding="utf-8")
    assert "de" not in load(Home(tmp_path))
    (folder / "de.yaml").write_text(f"phrases:\n{lines}{wrong}\n", encoding="utf-8")
    with pytest.raises(ConfigurationInvalid, match=r"de\.yaml"):
        load(Home(tmp_path))
