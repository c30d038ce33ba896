"""The README's ten lines do what it prints beneath them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.deployment import Deployment

pytestmark = pytest.mark.deployment
README = Path(__file__).resolve().parent.parent.parent / "README.md"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, f"the README has no {language} block"
    return found.group(1)


def test_the_ten_lines_print_what_the_readme_says(deployment: Deployment) -> None:
    code = block("python")
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
    pattern = "".join(r"\d{4}-\d\d-\d\d" if part == "…" else re.escape(part) for part in re.split("(…)", block("text")))
    assert re.fullmatch(pattern, done.stdout), done.stdout
