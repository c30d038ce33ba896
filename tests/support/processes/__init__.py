"""Stand-ins for the processes of a deployment: what each does is said by the environment (ACT_<NAME>)."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading


def play(name: str) -> int:
    """Act one process: steady | crash | hopeless | stubborn | never_ready | crash_once:FILE."""
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
    if act != "never_ready":
        os.write(options.ready_fd, b"ready\n")
        os.close(options.ready_fd)
    ended.wait()
    sys.stderr.write(f"{name} drained\n")
    return 0
