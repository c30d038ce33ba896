"""What is generated stands as the code says it, and the Makefile explains itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.gen_docs import PAGES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_generated_page_is_up_to_date(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name](), "run: make docs"


def test_make_without_a_target_lists_all_targets() -> None:
    make = shutil.which("make")
    assert make is not None
    # As called by a person, not by the make that may run these tests.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    shown = subprocess.run([make], cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    declared = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert declared is not None
    assert {line.split()[0] for line in shown.splitlines()} == set(declared[1].split())


def test_every_version_that_is_installed_is_pinned() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9.-]+==[0-9][0-9a-z.]*", line) for line in lines)
    names = [line.split("==")[0] for line in lines]
    assert names == sorted(set(names))
