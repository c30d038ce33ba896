"""Entry point of the broker: `python -m services.broker --home FOLDER`."""

from __future__ import annotations

import argparse
import json
import os
import sys

from aico_memory.bus.broker import Broker, stop_on_signals
from aico_memory.clock import Clock, SharedManualClock, SystemClock
from aico_memory.errors import AicoMemoryError
from aico_memory.log import configure_logging, get_logger
from aico_memory.paths import find_home
from aico_memory.settings.load import load_settings
from aico_memory.vault.master import open_vault

_READY = "broker.ready"


def main() -> int:
    """Serve until a signal; 1 with the reason in the log where it cannot start."""
    parser = argparse.ArgumentParser(prog="python -m services.broker", description="The bus broker of one home.")
    parser.add_argument("--home", default=None, help="folder of data, keys and run state (default: AICO_MEMORY_HOME)")
    options = parser.parse_args()
    configure_logging("broker")
    log = get_logger("services.broker")
    home = find_home(options.home)
    ready = home.run / _READY
    try:
        settings = load_settings(home)
        vault = open_vault(home, settings.security)
        clock: Clock = SystemClock()
        if os.environ.get("AICO_MEMORY_CLOCK") == "manual":
            clock = SharedManualClock(home.manual_clock)
        ready.unlink(missing_ok=True)
        broker = Broker(home, settings.bus, vault, clock)
        stop_on_signals(broker)
        try:
            broker.bind()
            ready.write_text(json.dumps({"pid": os.getpid()}) + "\n")
            broker.run()
        finally:
            broker.close()
            ready.unlink(missing_ok=True)
    except AicoMemoryError as error:
        log.error("broker ends", code=error.code, reason=error.detail, mend=error.mend)
        sys.stderr.write(f"{error}\n")
        return 1
    log.info("broker stopped")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
