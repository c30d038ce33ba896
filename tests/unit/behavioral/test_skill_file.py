from pathlib import Path

import pytest
import yaml

from aico_memory.errors import ConfigurationInvalid, SkillNotFound
from aico_memory.paths import shipped_config
from aico_memory.stores.behavioral.skill_file import FILE, load_skills

SHIPPED = shipped_config() / FILE
NAMED = {
    "concise_response", "detailed_explanation", "casual_chat", "technical_precision", "empathy_direct", "empathy_subtle",
    "proactive_suggestions", "reactive_only", "code_review_constructive", "summarize_key_points",
}  # fmt: skip


@pytest.fixture
def changed(tmp_path):
    """Writes the shipped file with one change, and returns its path."""

    def change(edit) -> Path:
        content = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))
        edit(content)
        path = tmp_path / FILE
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return path

    return change


def test_the_shipped_file_has_the_named_skills_and_two_more():
    catalogue = load_skills(SHIPPED)
    assert set(catalogue.skills) > NAMED
    assert len(catalogue) >= 12


def test_the_two_skills_with_given_figures_have_them():
    catalogue = load_skills(SHIPPED)
    assert catalogue.get("concise_response").dimensions == (
        0.2, 0.5, 0.5, 0.5, 0.3, 0.7, 0.4, 0.5, 0.5, 0.5, 0.6, 0.5, 0.5, 0.5, 0.5, 0.5,
    )  # fmt: skip
    assert catalogue.get("detailed_explanation").dimensions == (
        0.9, 0.6, 0.7, 0.5, 0.4, 0.6, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.7, 0.5, 0.5, 0.5,
    )  # fmt: skip
    assert catalogue.get("concise_response").trigger.intents == {"question", "request"}


def test_no_two_shipped_skills_have_the_same_style():
    catalogue = load_skills(SHIPPED)
    assert len({skill.dimensions for skill in catalogue}) == len(catalogue)


def test_a_skill_that_is_not_there_is_refused():
    with pytest.raises(SkillNotFound, match="nothing_such"):
        load_skills(SHIPPED).get("nothing_such")


@pytest.mark.parametrize(
    ("edit", "key"),
    [
        (lambda content: content["skills"][0].update(colour="red"), "skills.0.colour"),
        (lambda content: content["skills"][1].pop("template"), "skills.1.template"),
        (lambda content: content["skills"][2]["dimensions"].update(verbosity=1.5), "skills.2.dimensions: .*verbosity"),
        (lambda content: content["skills"][2]["dimensions"].update(verbosty=0.5), "skills.2.dimensions: .*verbosty"),
        (lambda content: content["skills"][3]["dimensions"].pop("patience"), "skills.3.dimensions: .*patience"),
        (lambda content: content["skills"][4]["trigger"].update(times_of_day=["noon"]), "skills.4.trigger.times_of_day"),
        (lambda content: content["skills"][5].update(trigger={}), "skills.5.trigger"),
        (lambda content: content["skills"][6].update(skill_id="casual_chat"), "skills.6.skill_id"),
        (lambda content: content["skills"].__delitem__(slice(5, None)), "skills: there are 5"),
        (lambda content: content.update(version=2), "version"),
    ],
)
def test_a_fault_is_named_with_file_and_key(changed, edit, key):
    path = changed(edit)
    with pytest.raises(ConfigurationInvalid, match=key) as refusal:
        load_skills(path)
    assert str(path) in refusal.value.detail


def test_a_file_that_is_no_yaml_or_not_there_is_refused(tmp_path):
    with pytest.raises(ConfigurationInvalid, match="cannot be read"):
        load_skills(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_text("skills: [", encoding="utf-8")
    with pytest.raises(ConfigurationInvalid, match="no valid YAML"):
        load_skills(tmp_path / "bad.yaml")
