"""Where a deployment keeps what: the one place that names files and folders of a home."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

HOME_VARIABLE = "AICO_MEMORY_HOME"
CONFIG_VARIABLE = "AICO_MEMORY_CONFIG"


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of data, keys and run state of one deployment."""

    root: Path

    @property
    def keys(self) -> Path:
        """CURVE keys, the wrapped master key, wrapped per-user keys; 0700."""
        return self.root / "keys"

    @property
    def curve(self) -> Path:
        return self.keys / "curve"

    @property
    def user_keys(self) -> Path:
        return self.keys / "users"

    @property
    def journal(self) -> Path:
        return self.root / "journal"

    def store(self, name: str) -> Path:
        """The folder of one worker's store."""
        return self.root / name

    @property
    def model(self) -> Path:
        """Exported ONNX models."""
        return self.root / "model"

    @property
    def run(self) -> Path:
        """Run state: endpoints, process table, clock; made anew by each start."""
        return self.root / "run"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def config(self) -> Path:
        """Overrides of the shipped configuration, file by file."""
        return self.root / "config"

    @property
    def bus_address(self) -> Path:
        """JSON with the broker's endpoints and public key, written by the broker when it is bound."""
        return self.run / "bus.json"

    @property
    def process_table(self) -> Path:
        return self.run / "processes.json"

    @property
    def read_only(self) -> Path:
        """While this file is there no process of the home writes; see aico_memory/bus/read_only.py."""
        return self.root / "read_only.json"

    @property
    def spool(self) -> Path:
        """What clients keep while the bus is away."""
        return self.root / "spool"

    @property
    def manual_clock(self) -> Path:
        return self.root / "clock"

    def ensure(self) -> None:
        """Make the folders that every process expects, the private ones private."""
        for folder in (self.root, self.keys, self.curve, self.user_keys, self.run, self.logs):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def find_home(given: str | os.PathLike[str] | None = None) -> Home:
    """The home that is given, else AICO_MEMORY_HOME, else the platform's data folder."""
    chosen = given or os.environ.get(HOME_VARIABLE) or platformdirs.user_data_dir("aico-memory", appauthor=False)
    return Home(Path(chosen).expanduser().absolute())


def shipped_config() -> Path:
    """The folder of the configuration that comes with the code."""
    given = os.environ.get(CONFIG_VARIABLE)
    return Path(given) if given else Path(__file__).resolve().parent.parent / "config"


def config_file(home: Home, name: str) -> Path:
    """A configuration file: the home's own where it has one, else the shipped one."""
    own = home.config / name
    return own if own.exists() else shipped_config() / name
