"""The guess of a language."""

import pytest

from aico_memory.domain.formation.language import LanguageTable, guess_language
from aico_memory.models.language_tables import load_function_words
from aico_memory.paths import Home


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> LanguageTable:
    return load_function_words(Home(tmp_path_factory.mktemp("home")))


@pytest.mark.parametrize(("text", "language"), [
    ("I moved to Berlin last week and it was raining all the time", "en"),
    ("Ich bin letzte Woche nach Berlin gezogen und es hat geregnet", "de"),
    ("Geçen hafta Berlin'e taşındım ve çok yağmur yağdı", "tr"),
    ("La semaine dernière, je suis allé à Paris avec ma sœur", "fr"),
    ("La semana pasada me mudé a Madrid con mi hermana", "es"),
    ("La settimana scorsa sono andata a Roma con mia sorella", "it"),
    ("Na semana passada eu fui a Lisboa com minha irmã", "pt"),
    ("Vorige week ben ik naar Amsterdam verhuisd met mijn zus", "nl"),
    ("На прошлой неделе я переехал в Москву", "ru"),
    ("انتقلت إلى القاهرة الأسبوع الماضي", "ar"),
    ("上周我搬到了北京", "zh"),
    ("先週東京に引っ越しました", "ja"),
    ("ฉันย้ายไปกรุงเทพเมื่อสัปดาห์ที่แล้ว", "th"),
    ("지난주에 서울로 이사했어요", "ko"),
    ("Την περασμένη εβδομάδα μετακόμισα", "el"),
    ("நான் சென்னைக்கு குடிபெயர்ந்தேன்", "ta"),
    ("გასულ კვირას თბილისში გადავედი", "ka"),
    ("ខ្ញុំបានផ្លាស់ទៅភ្នំពេញ", "km"),
    ("မနေ့က ရန်ကုန်ကို ပြောင်းခဲ့တယ်", "my"),
    ("আমি গত সপ্তাহে ঢাকায় চলে এসেছি", "bn"),
    ("నేను హైదరాబాద్‌కు మారాను", "te"),
    ("ಬೆಂಗಳೂರಿಗೆ", "kn"),
    ("ຂ້ອຍຍ້າຍໄປວຽງຈັນ", "lo"),
    ("Անցյալ շաբաթ տեղափոխվեցի Երևան", "hy"),
    ("ባለፈው ሳምንት ወደ አዲስ አበባ ተዛወርኩ", "am"),
    ("Pizza!", ""),
    ("“Pizza – ¿qué?”", "es"),
    ("12:30", ""),
    ("", ""),
])  # fmt: skip
def test_script_and_function_words_tell_the_language(text, language, table):
    assert guess_language(text, table) == language


def test_a_foreign_word_does_not_change_the_language(table):
    assert guess_language("The restaurant 東京 in Berlin was the best that we have been to", table) == "en"


def test_words_that_two_languages_share_decide_nothing(table):
    shared = LanguageTable({"aa": frozenset({"in"}), "bb": frozenset({"in"})}, {})
    assert guess_language("in", shared) == ""
