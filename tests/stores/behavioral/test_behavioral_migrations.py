"""Stores of before open, and lose what is no longer kept."""

import shutil
from importlib.resources import as_file, files

from aico_memory.domain.behavioral.policy import FIXED
from aico_memory.domain.behavioral.situation import bucket_of
from aico_memory.stores.behavioral.sql_store import FILE, SqlBehavioralStore
from aico_memory.stores.sql import Database
from tests.stores.behavioral.rows import KEY, read, selection, write


def store_of_before(folder, until):
    """A store with the migrations of before `until`, the first digits of one's name."""
    old = folder / "migrations"
    old.mkdir()
    with as_file(files("aico_memory.stores.behavioral") / "migrations") as present:
        for one in sorted(present.glob("*.sql")):
            if one.name < until:
                shutil.copy(one, old)
    return SqlBehavioralStore(Database.open(folder / FILE, KEY, old))


def test_selections_without_consent_that_stand_lose_their_situation(tmp_path):
    store = store_of_before(tmp_path, "011")
    made = selection(request="off", policy=FIXED, outcome="no_consent"), selection(request="on")
    write(store, *(lambda rows, one=one: rows.add_selection(one) for one in made))
    store.close()
    store = SqlBehavioralStore.open(tmp_path, KEY)
    off, on = (read(store, lambda rows, one=one: rows.selection("ann", one.request_id)) for one in made)
    store.close()
    assert (off.intent, off.sentiment, off.time_of_day, off.bucket) == ("", "", "", bucket_of("", "", ""))
    assert off.explanation == made[0].explanation
    assert on == made[1]
