"""Facts of one sentence are told apart, so that one can change without the others seeming to say the old."""

from __future__ import annotations

from pathlib import Path

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import shipped_config
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.paths import Home

SAID_AT = 1_770_000_000_000_000


@pytest.fixture(scope="module")
def tables() -> FormationTables:
    return load_formation_tables(Home(Path("/nowhere")))


def told(text: str, tables: FormationTables) -> list[str]:
    return [
        one.text for one in form(text, role="user", speaker="", said_at_us=SAID_AT, zone="UTC", recent=(), tables=tables).facts
    ]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I live in Graz with my wife Anna", {"User lives in Graz", "User's partner is Anna"}),
        ("My dog Kiko is a beagle.", {"User's dog is Kiko", "Kiko is a beagle"}),
        ("I work at Siemens as an engineer", {"User works at Siemens", "User is an engineer"}),
        ("My cat Miso hates the vacuum cleaner", {"User's cat is Miso", "Miso dislikes the vacuum cleaner"}),
        ("I play chess and the violin", {"User plays chess", "User plays the violin"}),
        ("I speak German and French", {"User speaks German", "User speaks French"}),
        (
            "My sister Lena lives in Bonn and works at Bosch",
            {"User's sister is Lena", "Lena lives in Bonn", "Lena works at Bosch"},
        ),
        ("Ich spreche Deutsch und Englisch", {"Ich spreche Deutsch", "Ich spreche Englisch"}),
        ("Ich wohne in Graz und arbeite bei Siemens", {"Mein Wohnort: Graz", "Mein Arbeitgeber: Siemens"}),
        ("Graz'da oturuyorum ve Siemens'te çalışıyorum", {"Yaşadığım yer: Graz", "İşverenim: Siemens"}),
    ],
)
def test_each_fact_of_a_sentence_has_a_text_of_its_own(text: str, facts: set[str], tables: FormationTables) -> None:
    assert set(told(text, tables)) == facts


@pytest.mark.parametrize("text", ["User lives in Graz", "I live in Graz", "I used to smoke twenty a day"])
def test_a_fact_alone_keeps_its_sentence(text: str, tables: FormationTables) -> None:
    assert all((one.startswith("User ") and "Graz" in one) or "twenty" in one for one in told(text, tables))


def test_what_is_over_keeps_the_sentence_that_says_so(tables: FormationTables) -> None:
    found = told("I lived in Graz and worked at Siemens until 2020", tables)
    assert found == ["User lived in Graz and worked at Siemens until 2020"] * 2


def test_what_ends_keeps_the_sentence_and_what_begins_is_told_by_itself(tables: FormationTables) -> None:
    ends, begins = told("I no longer work at Siemens, I'm at Bosch now", tables)
    assert "no longer" in ends
    assert begins == "User works at Bosch"


def test_a_wording_with_an_unknown_place_is_refused_where_the_file_is_read(tmp_path: Path) -> None:
    home = Home(tmp_path)
    folder = home.config / "language"
    folder.mkdir(parents=True)
    content = (shipped_config() / "language" / "en.yaml").read_text(encoding="utf-8")
    (folder / "en.yaml").write_text(content.replace("{who} lives in {value}", "{someone} lives in {value}"), encoding="utf-8")
    with pytest.raises(ConfigurationInvalid, match="someone"):
        load_formation_tables(home)
