"""Topics of people's own skills over the worker's handlers: embedded like those of base skills, and what they decide."""

import pytest

from aico_memory.contracts.envelope import check_fields
from aico_memory.contracts.v1 import behavioral_pb2, model_pb2
from aico_memory.domain.behavioral.shelf import Shelf
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.skill import Catalogue, Skill, SkillType, Trigger
from aico_memory.domain.behavioral.trigger import TriggerWeights, rank_triggers, topic_could_decide
from aico_memory.errors import InvalidMessage
from aico_memory.paths import shipped_config
from aico_memory.settings import Settings
from aico_memory.stores.behavioral.skill_file import FILE, load_skills
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import REPLY, Worker, own_skill

BASE = load_skills(shipped_config() / FILE)
CATALOGUE = Catalogue.of([BASE.get("summarize_key_points")])
BREAD, DOUGH, ROME = (0.0, 1.0, 0.0, 0.0), (0.0, 0.8, 0.6, 0.0), (0.0, 0.0, 0.0, 1.0)


@pytest.fixture(params=["twin", "sql"])
def worker(request, tmp_path):
    """One base skill, whose topic is far from everything, and the hybrid policy with a plain trigger share."""
    store = MemoryBehavioralStore() if request.param == "twin" else SqlBehavioralStore.open(tmp_path / "b", None)
    hybrid = {"policy": "hybrid-40-30-30", "model_deadline_ms": 10, "model_retry_ms": 1}
    made = Worker(
        store, tmp_path, Settings.model_validate({"behavioral": hybrid}), Catalogue.of([BASE.get("summarize_key_points")])
    )
    made.consent()
    made.model.vectors = {"baking bread": BREAD, "My dough does not rise": DOUGH, "When did Rome fall?": ROME}
    yield made
    made.handlers.close()


def embedded(worker):
    return [text for one in worker.model.asked if isinstance(one, model_pb2.EmbedRequest) for text in one.texts]


def bread_skill(worker, **fields):
    return own_skill(worker, **{"intents": [], "topics": ["  baking  bread "], "template": "Weights in grams."} | fields)


def sources(answer):
    return dict(entry.split("=", 1) for entry in answer.answered_by.split(", "))


def test_a_topic_alone_makes_an_own_skill_apply_where_it_is_near_and_nowhere_else(worker):
    made = bread_skill(worker)
    assert list(made.topics) == ["baking bread"]
    near = worker.select("My dough does not rise", intent="question")
    assert (near.skill_id, near.procedure_template) == (made.skill_id, "Weights in grams.")
    assert near.shares["trigger"] == pytest.approx(0.4 * 0.8)
    assert sources(near)["topic"] == "tiny"
    assert worker.select("When did Rome fall?", intent="question").outcome == "no_applicable_skill"
    assert worker.select("My dough does not rise", intent="question", user="bob").outcome != "applied", "it is Ann's skill"


def test_beside_an_intent_a_near_topic_counts_by_degrees(worker):
    bread_skill(worker, intents=["question"])
    near = worker.select("My dough does not rise", intent="question")
    far = worker.select("When did Rome fall?", intent="question")
    assert near.shares["trigger"] == pytest.approx(0.4 * (0.4 + 0.3 * 0.8) / 0.7)
    assert far.shares["trigger"] == pytest.approx(0.4 * 0.4 / 0.7)


def test_the_nearest_of_several_topics_counts(worker):
    bread_skill(worker, topics=["the fall of empires", "baking bread"])
    assert worker.select("My dough does not rise", intent="question").shares["trigger"] == pytest.approx(0.4 * 0.8)


def test_own_topics_are_embedded_once_alone_and_again_for_another_model(worker):
    bread_skill(worker)
    for number in range(3):
        worker.select("My dough does not rise", intent="question", request_id=f"r{number}")
    assert embedded(worker).count("baking bread") == embedded(worker).count("My dough does not rise") == 1
    assert ["baking bread"] in [list(one.texts) for one in worker.model.asked]
    worker.model.fingerprint = "other|4|2"
    worker.select("When did Rome fall?", intent="question")
    assert worker.select("My dough does not rise", intent="question").skill_id
    assert embedded(worker).count("baking bread") == 2


def test_without_the_model_a_skill_of_topics_alone_rests_and_comes_back_with_it(worker):
    made = bread_skill(worker)
    worker.model.away = True
    left = worker.select("My dough does not rise", intent="question", request_id="away")
    assert (left.outcome, sources(left)["topic"]) == ("no_applicable_skill", "left_out")
    worker.model.away = False
    assert worker.select("My dough does not rise", intent="question", request_id="back").skill_id == made.skill_id


def test_where_the_text_is_known_and_its_topics_are_not_the_answer_says_so(worker):
    made = bread_skill(worker)
    assert worker.select("My dough does not rise", intent="question", request_id="known").skill_id == made.skill_id
    changed = bread_skill(worker, skill_id=made.skill_id, topics=["baking bread", "sourdough"])
    worker.model.away = True
    left = worker.select("My dough does not rise", intent="question", request_id="away")
    assert (left.outcome, sources(left)["topic"], sources(left)["own_topics"]) == ("no_applicable_skill", "tiny", "left_out")
    worker.model.away = False
    assert worker.select("My dough does not rise", intent="question", request_id="back").skill_id == changed.skill_id


def test_nothing_is_embedded_for_people_without_topics_or_where_these_could_not_decide(worker):
    own_skill(worker, intents=["question"])
    worker.select("My dough does not rise", intent="question")
    bread_skill(worker, intents=["creative"], user="bob")
    worker.consent("bob")
    worker.select("My dough does not rise", intent="question", user="bob")
    assert embedded(worker) == []
    assert "topic" not in sources(worker.select("My dough does not rise", intent="question", user="bob", request_id="again"))


def test_a_batch_chooses_as_its_events_one_by_one_would(tmp_path):
    """A replay hands over many events at once: skills made, changed and brought back just before are there."""

    def events(worker):
        def put(**fields):
            fields = {"skill_id": "bread", "template": "Weights in grams.", "topics": ["baking bread"]} | fields
            return worker.event(behavioral_pb2.PutSkill(user_id="ann", **fields))

        def change(action):
            return worker.event(behavioral_pb2.ChangeSkill(user_id="ann", skill_id="bread", action=action))

        def select(name):
            message = behavioral_pb2.SkillSelectionRequest(
                user_id="ann", message_text="My dough does not rise", intent="question", sentiment="neutral",
                time_of_day="morning", request_id=name,
            )  # fmt: skip
            return worker.event(message)

        return [
            select("before"), put(), select("made"), put(topics=["the fall of Rome"]), select("elsewhere"), change("revert"),
            select("reverted"), change("archive"), select("archived"), change("restore"), select("restored"),
        ]  # fmt: skip

    def chosen(folder, together):
        folder.mkdir()
        worker = Worker(MemoryBehavioralStore(), folder, None, CATALOGUE)
        worker.consent()
        worker.model.vectors = {"baking bread": BREAD, "My dough does not rise": DOUGH, "the fall of Rome": ROME}
        given = events(worker)
        emitted = worker.apply(*given) if together else [found for one in given for found in worker.apply(one)]
        answers = [found for topic, found in emitted if topic == REPLY]
        return [
            (one.request_id, one.skill_id, round(one.score, 9), one.answered_by)
            for one in answers
            if isinstance(one, behavioral_pb2.SkillSelectionResponse)
        ]

    one_by_one = chosen(tmp_path / "one", together=False)
    assert [skill for _, skill, _, _ in one_by_one] == ["", "bread", "", "bread", "", "bread"]
    assert chosen(tmp_path / "all", together=True) == one_by_one


@pytest.mark.parametrize("together", [False, True])
def test_a_skill_that_an_undo_brings_back_is_chosen_by_its_topic_at_once(worker, tmp_path, together):
    made = bread_skill(worker)
    until = worker.event(behavioral_pb2.LearnNow()).occurred_us
    worker.publish(behavioral_pb2.ChangeSkill(user_id="ann", skill_id=made.skill_id, action="archive"))
    again = Worker(worker.store, tmp_path, worker.settings, CATALOGUE)
    again.model.vectors, again.count = worker.model.vectors, worker.count
    assert again.select("My dough does not rise", request_id="archived").outcome == "no_applicable_skill"
    undone = again.event(behavioral_pb2.UndoLearning(user_id="ann", until_us=until))
    choose = behavioral_pb2.SkillSelectionRequest(
        user_id="ann", message_text="My dough does not rise", intent="question", time_of_day="morning", request_id="undone"
    )
    if not together:
        again.apply(undone)
    replies = again.apply(*([undone] if together else []), again.event(choose))
    answer = next(one for _, one in replies if isinstance(one, behavioral_pb2.SkillSelectionResponse))
    assert (answer.skill_id, answer.procedure_template) == (made.skill_id, "Weights in grams.")


def test_a_new_version_keeps_its_topics_until_conditions_are_stated(worker):
    made = bread_skill(worker)
    assert list(bread_skill(worker, skill_id=made.skill_id, topics=[]).topics) == ["baking bread"]
    assert list(bread_skill(worker, skill_id=made.skill_id, topics=[], intents=["creative"]).topics) == []


@pytest.mark.parametrize("topics", [["  "], ["x" * 201]])
def test_topics_that_say_nothing_or_too_much_are_refused_also_beside_a_selection(worker, topics):
    put = behavioral_pb2.PutSkill(user_id="ann", template="Do it.", topics=topics)
    with pytest.raises(InvalidMessage):
        worker.publish(put)
    choose = behavioral_pb2.SkillSelectionRequest(user_id="ann", message_text="When did Rome fall?", intent="question")
    replies = [found for topic, found in worker.apply(worker.event(put), worker.event(choose)) if topic == REPLY]
    assert isinstance(replies[0], InvalidMessage)
    assert replies[1].outcome == "no_applicable_skill"


def test_a_skill_has_at_most_eight_topics():
    with pytest.raises(InvalidMessage, match="9 entries"):
        check_fields(behavioral_pb2.PutSkill(user_id="ann", template="Do it.", topics=[str(number) for number in range(9)]))


@pytest.mark.parametrize("intent", ["question", "creative", "nothing_known"])
def test_a_shelf_tells_of_each_intent_whether_a_topic_could_decide(intent):
    own = [
        Skill("a", "A", "", Trigger(frozenset({"creative"}), topics=("bread",)), (0.5,) * 16, SkillType.USER_CREATED),
        Skill("b", "B", "", Trigger(frozenset({"question"})), (0.5,) * 16, SkillType.USER_CREATED),
    ]
    weights = TriggerWeights()
    for base, mine in (((), own), (tuple(BASE), own), (tuple(BASE), ()), ((), own[1:])):
        shelf = Shelf.of(base, mine)
        expected = any(topic_could_decide(skill, intent, weights, 0.5) for skill in (*base, *mine))
        assert [shelf.topic_could_decide(intent, weights, 0.5) for _ in range(2)] == [expected] * 2
        assert shelf.has_topics == any(skill.trigger.topics for skill in (*base, *mine))


def test_an_own_skill_for_such_matters_is_tried_beside_the_base_skills_that_state_an_intent_alone(tmp_path):
    worker = Worker(MemoryBehavioralStore(), tmp_path)
    worker.consent()
    worker.model.vectors = {"baking bread": BREAD, "My dough does not rise": DOUGH, "When did Rome fall?": ROME}
    plain = [one for one in BASE if one.trigger.intents >= {"question"} and not one.trigger.topics]
    assert len(plain) >= worker.settings.behavioral.trigger.candidates, "they would leave it no place"
    made = bread_skill(worker, intents=["question"])
    for number in range(60):
        answer = worker.select("My dough does not rise", intent="question", request_id=f"r{number}")
        worker.feedback(answer.skill_id, 1 if answer.skill_id == made.skill_id else -1, request_id=f"r{number}")
    assert answer.skill_id == made.skill_id
    elsewhere = {worker.select("When did Rome fall?", intent="question", request_id=f"e{n}").skill_id for n in range(20)}
    assert made.skill_id not in elsewhere


@pytest.mark.parametrize(("cosine", "seats"), [(0.5, 1), (0.49, 0)])
def test_beside_the_best_triggers_go_on_own_skills_whose_topic_is_near(cosine, seats):
    base = [Skill(f"b{n}", "B", "", Trigger(frozenset({"question"})), (0.5,) * 16) for n in range(3)]
    topical = Trigger(frozenset({"question"}), topics=("bread",))
    own = [
        Skill("own", "Own", "", topical, (0.5,) * 16, SkillType.USER_CREATED),
        Skill("shipped", "S", "", topical, (0.5,) * 16),
    ]
    situation = Situation("question", nearness={"own": cosine, "shipped": 0.9})
    found = [match.skill.skill_id for match in rank_triggers([*base, *own], situation, TriggerWeights(), 0.5, 2)]
    assert found == ["b0", "b1", "own"][: 2 + seats]
