"""Style and types over the whole code, as `make lint` and `make typecheck` check them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def checked(*command: str) -> str:
    """What a checker said where it found something; nothing where it did not."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def ours() -> list[str]:
    """The Python files that belong to the project; in a copy without its history the folders of the code."""
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    there = [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
    return there or ["aico_memory", "services", "scripts"]


def test_ruff_finds_nothing() -> None:
    assert checked("ruff", "check", "--force-exclude", *ours()) == ""


def test_every_file_is_formatted() -> None:
    assert checked("ruff", "format", "--check", "--force-exclude", *ours()) == ""


@pytest.mark.timeout(1500)
def test_mypy_finds_nothing_strictly() -> None:
    assert checked("mypy") == ""
