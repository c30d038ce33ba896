"""The emergency stop of all writing: one small file in the home, so that it holds for every process and over every restart.

While it stands, workers apply nothing and their idle work rests; questions go on being answered. The broker still takes what
people say (acknowledged, in its journal, applied in order after the release) and refuses commands that wait for an answer.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass

from aico_memory.errors import ReadOnly, from_os_error
from aico_memory.paths import Home

MEND = "Let writing go on with `aico-memory read-only off`."


@dataclass(frozen=True, slots=True)
class WriteStop:
    """Whether writing is stopped; since when (Unix µs), by whom and why, where it is."""

    on: bool = False
    since_us: int = 0
    by: str = ""
    reason: str = ""

    def as_data(self) -> dict[str, object]:
        """JSON values."""
        return asdict(self)

    def error(self) -> ReadOnly:
        """What is said to whoever wants to write meanwhile."""
        why = f": {self.reason}" if self.reason else ""
        return ReadOnly(f"All writing is stopped{why}", MEND)


class ReadOnlySwitch:
    """The switch of one home. Whether the file is there decides, not what is in it: a torn one stops as well."""

    def __init__(self, home: Home) -> None:
        self._path = home.read_only
        # Looked at several times for each record: a plain text costs a tenth of a path there.
        self._name = str(self._path)

    @property
    def on(self) -> bool:
        """One look at the disk, a few microseconds."""
        return os.access(self._name, os.F_OK)

    def state(self) -> WriteStop:
        """What stands in the file."""
        if not self.on:
            return WriteStop()
        try:
            body = json.loads(self._path.read_text(encoding="utf-8"))
            return WriteStop(True, int(body["since_us"]), str(body["by"]), str(body["reason"]))
        except (OSError, ValueError, KeyError, TypeError):
            return WriteStop(self.on)

    def stop(self, by: str, reason: str, at_us: int) -> WriteStop:
        """Stop all writing, durably; where it is stopped already the first word stands."""
        if self.on:
            return self.state()
        state = WriteStop(True, at_us, by, reason)
        temporary = self._path.with_suffix(f".{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with temporary.open("w", encoding="utf-8") as file:
                file.write(json.dumps({"since_us": at_us, "by": by, "reason": reason}) + "\n")
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
            self._sync_folder()
        except OSError as error:
            raise from_os_error(error) from error
        return state

    def release(self) -> WriteStop:
        """Let writing go on; nothing changes where it does."""
        try:
            self._path.unlink(missing_ok=True)
            self._sync_folder()
        except OSError as error:
            raise from_os_error(error) from error
        return WriteStop()

    def _sync_folder(self) -> None:
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
