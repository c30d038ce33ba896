"""The README's code and commands do what it prints beneath them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.deployment import Deployment

pytestmark = pytest.mark.deployment
README = Path(__file__).resolve().parent.parent.parent / "README.md"
COMMAND = "$ aico-memory "


def blocks(language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found, f"the README has no {language} block"
    return found


def assert_prints(shown: str, printed: str) -> None:
    """In place of … stands anything; what fills a column up at the end of a line does not count."""
    pattern = "".join(".*?" if part == "…" else re.escape(part) for part in re.split("(…)", shown.strip()))
    lines = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    assert re.fullmatch(pattern, lines, re.DOTALL), f"the README shows\n{shown}\nand this is printed\n{printed}"


def test_the_code_prints_what_the_readme_says(deployment: Deployment) -> None:
    for code, shown in zip(blocks("python"), blocks("text"), strict=True):
        assert len([line for line in code.splitlines() if line.strip()]) <= 12
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env=deployment.variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert_prints(shown, done.stdout)


def test_the_commands_print_what_the_readme_says(deployment: Deployment) -> None:
    (shown,) = blocks("console")
    for part in shown.split(COMMAND)[1:]:
        command, _, output = part.partition("\n")
        assert_prints(output, deployment.ok(*shlex.split(command)).out)
