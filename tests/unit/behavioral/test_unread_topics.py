"""Topics and texts in languages that the embedding model does not speak: words decide, and the answer says so."""

import pytest

from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.behavioral.topic_words import word_nearness
from aico_memory.paths import shipped_config
from aico_memory.stores.behavioral.skill_file import FILE, load_skills
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import Worker, own_skill

CATALOGUE = Catalogue.of([load_skills(shipped_config() / FILE).get("summarize_key_points")])


@pytest.fixture
def worker(tmp_path):
    """Of a model that takes everything for the same, and was made for English alone."""
    made = Worker(MemoryBehavioralStore(), tmp_path, None, CATALOGUE)
    made.model.languages = ("en",)
    made.consent()
    return made


def sources(answer):
    return dict(entry.split("=", 1) for entry in answer.answered_by.split(", "))


def bread_skill(worker, *topics):
    return own_skill(worker, "bread", intents=[], topics=topics, template="Weights in grams.")


@pytest.mark.parametrize(
    ("topic", "elsewhere", "near"),
    [
        ("烤面包", "秘鲁的首都是哪里", "怎么烤酸面包"),
        ("Brot backen", "Was ist die Hauptstadt von Peru?", "Wie backe ich ein Brot?"),
        ("хлеб", "Какая столица Перу?", "Как испечь хлеб на закваске?"),
    ],
)
def test_where_the_model_cannot_read_a_text_words_in_common_decide_about_own_topics(worker, topic, elsewhere, near):
    bread_skill(worker, topic)
    other = worker.select(elsewhere, request_id="elsewhere")
    assert (other.outcome, sources(other)["topic"]) == ("no_applicable_skill", "not_its_language")
    found = worker.select(near, request_id="near")
    assert (found.skill_id, sources(found)["own_topics"]) == ("bread", "words")


def test_a_topic_that_the_model_cannot_read_is_near_to_nothing_that_it_can(worker):
    bread_skill(worker, "выпечка хлеба")
    found = worker.select("What is the capital of Peru?")
    assert (found.outcome, sources(found)["topic"], sources(found)["own_topics"]) == ("no_applicable_skill", "tiny", "words")


def test_a_topic_that_the_model_reads_counts_beside_one_that_it_does_not(worker):
    bread_skill(worker, "выпечка хлеба", "the baking of bread")
    assert worker.select("What is the dough of the bread?").skill_id == "bread"


@pytest.mark.parametrize("languages", [(), ("en", "zh")])
def test_a_model_that_speaks_the_language_is_believed(worker, languages):
    worker.model.languages = languages
    bread_skill(worker, "烤面包")
    found = worker.select("秘鲁的首都是哪里")
    assert (found.skill_id, sources(found)["topic"]) == ("bread", "tiny")
    assert "own_topics" not in sources(found)


def test_the_vector_that_comes_with_the_labels_counts_no_more(worker):
    bread_skill(worker, "烤面包")
    found = worker.select("秘鲁的首都是哪里", intent="")
    assert (found.outcome, sources(found)["topic"]) == ("no_applicable_skill", "not_its_language")


def test_words_of_a_topic_that_say_nothing_count_where_there_is_nothing_else():
    ignored = frozenset({"in", "der"})
    assert word_nearness("in der Küche", "in der Stadt", ignored) == 0.0
    assert word_nearness("in der Küche", "Küche", ignored) == 1.0
    assert word_nearness("in der", "in der Stadt", ignored) == 1.0
    assert word_nearness("?", "in der Stadt", ignored) == 0.0
