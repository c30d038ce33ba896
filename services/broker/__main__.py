"""Entry point of the broker: `python -m services.broker --home FOLDER`."""

from __future__ import annotations

from aico_memory.bus.broker import Broker, stop_on_signals
from aico_memory.errors import AicoMemoryError
from aico_memory.log import configure_logging, get_logger
from aico_memory.paths import find_home
from aico_memory.runtime.clocks import clock_for
from aico_memory.runtime.worker import announce_ready, exit_code, worker_parser
from aico_memory.settings.load import load_settings
from aico_memory.vault.master import open_vault

NAME = "broker"


def main() -> int:
    """Serve until a signal; the exit codes of a worker, with the reason in the log where it cannot start."""
    options = worker_parser(NAME).parse_args()
    configure_logging(NAME)
    log = get_logger("services.broker")
    home = find_home(options.home)
    ready = home.run / f"{NAME}.ready"
    try:
        settings = load_settings(home)
        configure_logging(NAME, settings.runtime.log_level)
        vault = open_vault(home, settings.security)
        ready.unlink(missing_ok=True)
        broker = Broker(home, settings.bus, vault, clock_for(home))
        stop_on_signals(broker)
        try:
            broker.bind()
            announce_ready(home, NAME, options.ready_fd)
            broker.run()
        finally:
            broker.close()
            ready.unlink(missing_ok=True)
    except AicoMemoryError as error:
        log.error("stopped", code=error.code, detail=error.detail, mend=error.mend)
        return exit_code(error)
    log.info("drained")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
