"""Stand-ins for the processes of a deployment: what each does is said by the environment (ACT_<NAME>)."""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import threading
from pathlib import Path

FILES = Path("/proc/self/fd")


def imported(name: str) -> None:
    """What a module of a process does when it is loaded: end its importer, start a thread there, or nothing."""
    act = os.environ.get(f"ACT_{name.upper()}", "")
    if act == "deadly_import":
        os._exit(7)
    if act == "threaded_import":
        threading.Thread(target=threading.Event().wait, daemon=True).start()


def play(name: str) -> int:
    """Act one process: steady | crash | hopeless | stubborn | never_ready | crash_once:FILE | crash_while:FILE | describe."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--home")
    parser.add_argument("--ready-fd", type=int)
    options = parser.parse_args()
    act, _, argument = os.environ.get(f"ACT_{name.upper()}", "steady").partition(":")
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: None if act == "stubborn" else ended.set())
    sys.stderr.write(f"{name} starts\n")
    if act == "crash":
        sys.stderr.write(f"{name} cannot find its hat\n")
        return 1
    if act == "hopeless":
        words = {"event": "stopped", "detail": "The key does not fit", "code": "wrong_key", "mend": "Give the key."}
        sys.stderr.write(json.dumps(words) + "\n")
        return 3
    if act == "crash_once" and not os.path.exists(argument):  # noqa: PTH110
        with open(argument, "w"):  # noqa: PTH123
            return 1
    if act == "crash_while" and os.path.exists(argument):  # noqa: PTH110
        sys.stderr.write(f"{name} stumbles over {argument}\n")
        return 1
    if act == "describe":
        sys.stderr.write(json.dumps(describe(options.ready_fd)) + "\n")
    if act != "never_ready":
        os.write(options.ready_fd, b"ready\n")
        os.close(options.ready_fd)
    ended.wait()
    sys.stderr.write(f"{name} drained\n")
    return 0


def describe(ready: int) -> dict[str, object]:
    """What a process was born with."""
    files = {int(each.name): str(each.readlink()) for each in FILES.iterdir() if each.exists()}
    return {
        "files": sorted(files.keys() - {ready}), "stdin": files[0], "draw": random.random(), "environment": dict(os.environ),
        "leads": os.getsid(0) == os.getpgid(0) == os.getpid(), "signals": signal.getsignal(signal.SIGINT).__name__,
        "arguments": sys.argv[1:], "module": __name__, "cwd": str(Path.cwd()), "thread": threading.current_thread().name,
    }  # fmt: skip
