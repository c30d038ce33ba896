"""Work that never ends, and work that does; in processes of their own, since the watchdog ends the one it is in."""

from __future__ import annotations

import subprocess
import sys

ASTRAY = """
import re
from aico_memory.runtime.watchdog import Watchdog
with Watchdog(0.3, 0.1).over(2):
    # Never lets go of the interpreter: no thread of this process could notice.
    re.match(r"(a+)+$", "a" * 60 + "b")
print("came through")
"""
IN_TIME = """
from aico_memory.runtime.watchdog import Watchdog
watchdog = Watchdog(60.0, 0.0)
for _ in range(50):
    with watchdog.over(1):
        sum(range(1000))
try:
    with watchdog.over(1):
        raise ValueError("an error is no standstill")
except ValueError as error:
    print(error)
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)


def test_work_that_never_ends_ends_its_process_and_says_where_it_was() -> None:
    done = run(ASTRAY)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Timeout (0:00:00.5" in done.stderr
    assert "in match" in done.stderr


def test_work_that_ends_in_time_is_let_be_whether_it_succeeds_or_not() -> None:
    done = run(IN_TIME)
    assert (done.returncode, done.stdout, done.stderr) == (0, "an error is no standstill\n", "")
