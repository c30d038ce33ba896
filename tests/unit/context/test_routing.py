"""What kind of question it is, its parts, made-up answers: by the shipped phrases."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.context.routing import INTENTS, RoutingTable, joined
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.question_tables import load_routing
from aico_memory.paths import Home

ROUTING = load_routing(Home(Path("/nowhere")))


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Where does Ana live?", "factual"),
        ("When did I move to Oslo?", "temporal"),
        ("Where did I use to live back then?", "temporal"),
        ("Where did I use to live?", "temporal"),
        ("What was my favourite tea before?", "temporal"),
        ("What do I use to clean the oven?", "factual"),
        ("Why did Tom quit?", "causal"),
        ("Who is Lena?", "entity_profile"),
        ("Tell me about the Atlas project", "entity_profile"),
        ("What is my favourite tea?", "preference"),
        ("Recommend me a restaurant", "preference"),
        ("What should I cook tonight?", "preference"),
        ("Was kann ich essen?", "preference"),
        ("Akşama ne pişirsem?", "preference"),
        ("Nice weather today", "general"),
        ("Wann bin ich umgezogen?", "temporal"),
        ("Warum hat Tom gekündigt?", "causal"),
        ("Was trinke ich am liebsten?", "preference"),
        ("Erzähl mir von Lena", "entity_profile"),
        ("Ne zaman taşındım?", "temporal"),
        ("Neden işten ayrıldı?", "causal"),
        ("En sevdiğim içecek nedir?", "preference"),
        ("我为什么搬家？", "causal"),
        ("いつ引っ越しましたか", "temporal"),
        # A clause of time is no question for one; an indirect question is.
        ("What do I eat when I'm ill?", "factual"),
        ("When I'm ill, what do I eat?", "factual"),
        ("When I'm ill what do I eat?", "factual"),
        ("When we were in Rome which hotel did we take?", "factual"),
        ("When and with whom did I meet?", "temporal"),
        ("When the lease began", "temporal"),
        ("Cuando estoy enfermo qué como?", "factual"),
        ("Quand je suis malade qu'est-ce que je mange ?", "factual"),
        ("Quando sono malato cosa mangio?", "factual"),
        ("Do I take sugar when I drink tea?", "factual"),
        ("Do you know when I moved to Oslo?", "temporal"),
        ("Where and when did I meet Tom?", "temporal"),
        ("I'm back. When's my appointment?", "temporal"),
        ("¿Qué como cuando estoy enfermo?", "factual"),
        ("¿Qué hago antes de dormir?", "factual"),
        ("¿Dónde vivía antes?", "temporal"),
        ("¿Cuándo me mudé?", "temporal"),
        ("cuando me mudé a Oslo", "temporal"),
        ("Que est-ce que je mange quand je suis malade ?", "factual"),
        ("Quand est-ce que j'ai déménagé ?", "temporal"),
        ("Où habitais-je avant ?", "temporal"),
        ("Qu'est-ce que je bois avant de dormir ?", "factual"),
        ("Cosa mangio quando sono malato?", "factual"),
        ("Quando mi sono trasferito?", "temporal"),
        ("Cosa bevo prima di dormire?", "factual"),
        ("Что я ем, когда болею?", "factual"),
        ("Когда я переехал?", "temporal"),
        ("What happened yesterday?", "temporal"),
        ("Where did I live in 2019?", "temporal"),
        ("Where was I last week?", "temporal"),
        ("Why did I stay at home yesterday?", "causal"),
        ("What is my last name?", "factual"),
        ("What is the code 20195?", "factual"),
        ("Wo war ich gestern?", "temporal"),
        ("Dün neredeydim, ne yaptım?", "temporal"),
        ("Ayşe kim?", "entity_profile"),
        ("Bana Ayşe'yi anlat", "entity_profile"),
        ("Kim geldi?", "factual"),
    ],
)
def test_an_intent_is_told_by_its_phrases(question: str, intent: str) -> None:
    assert ROUTING.intent(question) == intent


@given(st.text(max_size=200))
def test_every_text_has_an_intent_and_at_most_as_many_parts_as_are_allowed(text: str) -> None:
    assert ROUTING.intent(text) in INTENTS
    parts = ROUTING.parts(text, 3)
    assert len(parts) != 1
    assert len(parts) <= 3
    assert all(part.strip() for part in parts)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Where does Ana live and what does Tom drink?", ("Where does Ana live", "what does Tom drink")),
        ("Where is the key? And who has the car?", ("Where is the key", "And who has the car")),
        ("Wo wohne ich und wann ziehe ich um?", ("Wo wohne ich", "wann ziehe ich um")),
        ("Nerede yaşıyorum ve neden taşındım?", ("Nerede yaşıyorum", "neden taşındım")),
        ("猫叫什么名字？我住在哪里？", ("猫叫什么名字", "我住在哪里")),
        ("どこに住んでる？猫の名前は？", ("どこに住んでる", "猫の名前は")),
        ("고양이 이름은? 나는 어디 살아?", ("고양이 이름은", "나는 어디 살아")),
        ("猫の名前は何、そしてどこに住んでいますか", ("猫の名前は何", "どこに住んでいますか")),
        ("谁？为什么去的？", ()),
        ("真的？我住在哪里？", ()),
        ("我住在哪一个城市？我喜欢喝什么茶？", ("我住在哪一个城市", "我喜欢喝什么茶")),
        (
            "Where do I live, what is my cat called and what am I allergic to?",
            ("Where do I live", "what is my cat called", "what am I allergic to"),
        ),
        ("When I'm ill, what do I eat and what do I drink?", ("When I'm ill, what do I eat", "what do I drink")),
        ("Can you tell me, where I live and what it costs?", ("Can you tell me, where I live", "what it costs")),
        ("What is the house called, which I like?", ()),
        ("Wo wohne ich und wogegen bin ich allergisch?", ("Wo wohne ich", "wogegen bin ich allergisch")),
        ("Waar woon ik en waarmee werk ik?", ("Waar woon ik", "waarmee werk ik")),
        ("Nerede yaşıyorum ve kedimin adı ne?", ("Nerede yaşıyorum", "kedimin adı ne")),
        ("Kedimin adı ne ve nerede yaşıyorum?", ("Kedimin adı ne", "nerede yaşıyorum")),
        ("Kedimin ve köpeğimin adı ne?", ()),
        ("Nerede yaşıyorum ve çalışıyorum?", ()),
        ("Ne zaman ve nerede tanıştık?", ()),
        ("أين أعيش وما اسم قطتي؟", ("أين أعيش", "ما اسم قطتي")),
        ("ما اسم أخي وأختي؟", ()),
        ("What are the pros and cons?", ()),
        ("Tell me about the day when and where we met", ()),
        ("What is my job and also my boss's name?", ("What is my job", "What is my boss's name")),
        ("Was ist mein Beruf und außerdem der Name meines Hundes?", ("Was ist mein Beruf", "Was ist der Name meines Hundes")),
        ("What is Anna's job and Ben's car?", ("What is Anna's job", "What is Ben's car")),
        (
            "Where do I live and what is my dog's name and also the wifi password?",
            ("Where do I live", "what is my dog's name", "what is the wifi password"),
        ),
        ("Which museum did we visit and also like?", ()),
        ("What is salt and also?", ()),
        ("What is the plan and it's cost?", ()),
        ("Do I like salt and pepper?", ()),
    ],
)
def test_only_what_asks_twice_is_taken_apart(question: str, parts: tuple[str, ...]) -> None:
    assert ROUTING.parts(question, 4) == parts


@pytest.mark.parametrize(
    ("question", "language", "parts"),
    [
        ("What do Anna and Ben do?", "en", ("What do Anna do", "What do Ben do")),
        ("Where do Anna Smith or Ben live?", "en", ("Where do Anna Smith live", "Where do Ben live")),
        ("What do Anna, Ben, and Clara drink?", "en", ("What do Anna drink", "What do Ben drink", "What do Clara drink")),
        ("Do Anna and Ben know each other?", "en", ("Do Anna know each other", "Do Ben know each other")),
        ("Anna ve Ben nerede yaşıyor?", "tr", ("Anna nerede yaşıyor", "Ben nerede yaşıyor")),
        ("¿Dónde viven Anna y Ben?", "es", ("Dónde viven Anna", "Dónde viven Ben")),
        # One name, one tie between something else, a name that has "of" in it, nobody else, nouns.
        ("What do I and Ben do?", "en", ()),
        ("Do I like salt and pepper?", "en", ()),
        ("What does the Bank of Porto want?", "en", ()),
        ("What does Ben eat and drink?", "en", ()),
        ("What do Anna and anna do?", "en", ()),
        ("Mag ich Salz und Pfeffer?", "de", ()),
        ("What do Anna and Ben do?", "", ()),
    ],
)
def test_a_question_about_several_that_are_named_is_asked_about_each(
    question: str, language: str, parts: tuple[str, ...]
) -> None:
    assert ROUTING.of_each(question, language, 4) == parts
    assert ROUTING.of_each(question, language, 1) == ()
    assert ROUTING.of_each(question, language, 2) == parts[:2]


@given(st.text(max_size=200))
def test_about_each_is_asked_of_any_text(text: str) -> None:
    assert len(ROUTING.of_each(text, "en", 3)) in (0, 2, 3)


@pytest.mark.parametrize(
    ("question", "ahead"),
    [
        ("Where will I live?", True), ("What is on my agenda?", True), ("Anything planned for the weekend?", True),
        ("Was steht demnächst an?", True), ("Wo werde ich wohnen?", True), ("Yarın ne yapıyorum?", True),
        ("¿Qué cita tengo mañana?", True), ("明天我做什么", True), ("来週の予定は", True),
        ("Where do I live?", False), ("Wo wohne ich?", False), ("Nerede yaşıyorum?", False), ("我住在哪里", False),
        ("Who is William?", False),
    ],
)  # fmt: skip
def test_what_is_to_come_is_asked_for_by_its_phrases(question: str, ahead: bool) -> None:
    assert ROUTING.asks_ahead(question) is ahead


def test_made_up_answers_name_the_topic_in_the_question_s_language() -> None:
    assert ROUTING.hypotheses("What is my favourite tea?", "en", 1) == ("my favourite tea is",)
    assert ROUTING.hypotheses("Warum hat Tom gekündigt?", "de", 2)[0] == "Der Grund ist, dass Tom gekündigt"
    assert ROUTING.hypotheses("為什麼", "xx", 2) == ()


def test_an_unknown_intent_in_the_table_is_named() -> None:
    with pytest.raises(ValueError, match="gossip"):
        joined({"en": RoutingTable({"gossip": ["psst"]}, [], [], {}, {})})


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.config.mkdir(parents=True)
    (home.config / "questions.yaml").write_text("languages:\n  en:\n    question_words: what\n")
    with pytest.raises(ConfigurationInvalid, match="questions"):
        load_routing(home)
