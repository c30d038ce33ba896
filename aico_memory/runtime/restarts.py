"""When a dead process is started again, and when it is not: rules without a clock."""

from __future__ import annotations

import errno
import signal
from collections import deque
from dataclasses import dataclass, field

from aico_memory.settings.runtime import RuntimeSettings

# A process exits with this where another start at once cannot help (wrong key, other journal, unreadable store).
HOPELESS_EXIT = 3
WHOLE, HALF = 2, 1
# Want of processes, memory or descriptors.
_WANTS = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})


@dataclass(slots=True)
class RestartPolicy:
    """Backoff that doubles while a process dies before it is ready; an end after too many deaths of its own."""

    settings: RuntimeSettings
    _wait_ms: int = 0
    # Time and weight of each death.
    _deaths: deque[tuple[float, int]] = field(default_factory=deque)

    def after_death(self, now: float, exit_code: int, was_ready: bool) -> float | None:
        """Seconds to wait before the next start, or None: no further start. `now` is monotonic, in s.

        A negative exit code is the signal that ended the process. SIGKILL comes from outside
        (an operator, the kernel short of memory), so it never counts as a crash of its own. Any other signal
        counts half: it may be one record that crashes native code, and the inbox needs its attempts to find it out.
        A process that could work here before and cannot any more (its key is not let in, its disk is gone for a
        moment) is tried once more: what changed may have changed back.
        """
        hopeless = exit_code == HOPELESS_EXIT
        if hopeless and not was_ready:
            return None
        if exit_code != -signal.SIGKILL:
            self._deaths.append((now, WHOLE if exit_code >= 0 else HALF))
        while self._deaths and now - self._deaths[0][0] > self.settings.crash_loop_seconds:
            self._deaths.popleft()
        if sum(weight for _, weight in self._deaths) >= self.settings.crash_loop_count * WHOLE:
            return None
        if hopeless:
            self._wait_ms = self.settings.restart_limit_ms
        elif was_ready or not self._wait_ms:
            self._wait_ms = self.settings.restart_first_ms
        else:
            self._wait_ms = min(self._wait_ms * 2, self.settings.restart_limit_ms)
        return self._wait_ms / 1000

    def after_failed_start(self, now: float, error: OSError) -> float | None:
        """The same where no process began at all: a want of the machine comes from outside and passes."""
        return self.after_death(now, -signal.SIGKILL if error.errno in _WANTS else 1, was_ready=False)
