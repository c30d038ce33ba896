"""A call reads the module of its command and no other."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from aico_memory.cli.app import app
from aico_memory.cli.modules import WORDS, load_commands

LOADED = """
import sys
from aico_memory.cli.modules import WORDS, load_commands
load_commands(sys.argv[1:])
print(*sorted(name for name in WORDS if f"aico_memory.cli.{name}" in sys.modules))
"""


def holders(commands: typer.Typer) -> set[str]:
    """The modules whose functions these commands call."""
    own = {one.callback.__module__ for one in commands.registered_commands if one.callback is not None}
    return own.union(*(holders(one.typer_instance) for one in commands.registered_groups if one.typer_instance is not None))


def test_the_table_says_what_the_modules_register() -> None:
    load_commands(["--help"])
    found: dict[str, set[str]] = {str(one.name): {one.callback.__module__} for one in app.registered_commands if one.callback}
    found |= {str(one.name): holders(one.typer_instance) for one in app.registered_groups if one.typer_instance is not None}
    told: dict[str, set[str]] = {}
    for module, words in WORDS.items():
        for word in words.split():
            told.setdefault(word, set()).add(f"aico_memory.cli.{module}")
    assert told == found


@pytest.mark.parametrize(
    ("arguments", "only"),
    [
        (["up", "--detach"], {"lifecycle"}),
        (["--home", "status", "--json", "down"], {"lifecycle"}),
        (["--home=/x", "bench", "system"], {"bench", "bench_context", "bench_deployment", "bench_index", "bench_skills"}),
        (["nothing-of-this-name"], set(WORDS)),
        (["--help"], set(WORDS)),
        (["--help", "add"], set(WORDS)),
        ([], set(WORDS)),
    ],
)
def test_a_call_reads_what_its_command_needs(arguments: list[str], only: set[str]) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == only
