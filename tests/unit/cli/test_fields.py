"""How answers are told to people: values without brackets, what waits for their word, and what a missing consent asks for."""

import pytest

from aico_memory.cli import behavior
from aico_memory.cli.face import Face, readable
from aico_memory.paths import Home


@pytest.fixture
def face(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return Face(Home(tmp_path))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.7084492423, "0.7084"),
        (3.0, "3"),
        (None, ""),
        (["question", "request"], "question, request"),
        ({"trigger": 0.5777857, "alignment": -0.1354}, "trigger 0.5778, alignment -0.1354"),
        (True, "True"),
        (12, "12"),
    ],
)
def test_a_value_is_told_as_people_read_it(value, told):
    assert readable(value) == told


def test_fields_are_lines_and_a_missing_consent_says_what_to_do(face, capsys):
    face.fields({"score": 0.25, "name": "[red]"})
    assert capsys.readouterr().out == "score  0.25\nname  [red]\n"
    face.fields({"status": "no_consent", "buckets": 0})
    assert "aico-memory consent" in capsys.readouterr().out


def test_a_proposed_skill_is_told_with_what_speaks_for_it(face, capsys, monkeypatch):
    plain = {"name": "Own", "type": "user_created", "confidence": 0.5, "uses": 0, "positive": 0, "negative": 0}
    listed = [
        {**plain, "skill_id": "own_1", "status": "accepted", "evidence": "", "template": "Rhyme."},
        {**plain, "skill_id": "proposed_2", "status": "proposed", "evidence": "3 of 3 [say] so", "template": "Be short."},
    ]
    monkeypatch.setattr(behavior, "face_of", lambda context: face)
    monkeypatch.setattr(Face, "client", lambda self: Listed(listed))
    behavior.skills(None, "ana")
    told = capsys.readouterr().out
    assert "proposed_2 is proposed. 3 of 3 [say] so." in told
    assert "Be short." in told and "Rhyme." not in told


class Listed:
    """A client that knows some skills."""

    def __init__(self, found):
        self._found = found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Nothing to let go."""

    def skills(self, user):
        return self._found
