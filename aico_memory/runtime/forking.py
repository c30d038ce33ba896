"""Starting the processes of a deployment as forks of one that has loaded what they share."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from time import monotonic

from aico_memory.runtime.joblog import ProcessLog
from aico_memory.runtime.restarts import RestartPolicy
from aico_memory.runtime.spawning import Spawning, Start, Started
from aico_memory.settings.runtime import RuntimeSettings

LONGEST_ANSWER = 4096
# A fork server has nothing to finish.
END_SECONDS = 1.0
# Of one start: the first fork server may be killed while it is asked.
ATTEMPTS = 3


class Adopted:
    """A process that this one is the parent of, by birth or because it was orphaned; needs pidfd_open(2)."""

    def __init__(self, pid: int, collect: Callable[[int], int | None] | None = None) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._collect = collect or _wait_status
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._descriptor = os.pidfd_open(pid)
        self._loop.add_reader(self._descriptor, self._look)

    def send_signal(self, signal: int, /) -> None:
        """ProcessLookupError where it has ended."""
        # Until it has been waited for nobody else can have this id.
        if self.returncode is not None:
            raise ProcessLookupError(self.pid)
        os.kill(self.pid, signal)

    async def wait(self) -> int:
        """Until it has ended; its exit code."""
        await self._ended.wait()
        return self.returncode or 0

    def has_ended(self, status: int) -> None:
        """It has been waited for."""
        self.returncode = os.waitstatus_to_exitcode(status)
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._ended.set()

    def _look(self) -> None:
        status = self._collect(self.pid)
        if status is not None:
            self.has_ended(status)


class ForkServer:
    """One life of the fork server, as the supervisor sees it; OSError where it cannot be started."""

    def __init__(self, modules: Sequence[str], environment: Mapping[str, str], log: ProcessLog) -> None:
        self._forks: dict[int, Adopted] = {}
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            self._control, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.enter_context(self._control)
            theirs.enter_context(control)
            output, writer = os.pipe()
            ours.callback(os.close, output)
            theirs.callback(os.close, writer)
            self._control.setblocking(False)
            control.set_inheritable(True)
            command = [
                sys.executable, "-m", "aico_memory.runtime.fork_server", str(os.getpid()), str(control.fileno()), *modules,
            ]  # fmt: skip
            actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                       (os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_DUP2, writer, 2)]  # fmt: skip
            pid = os.posix_spawn(sys.executable, command, environment, file_actions=actions, setsid=True)
            self.process = Adopted(pid, self._collect_group)
            ours.pop_all()
        self._copying = asyncio.create_task(log.follow(output))

    async def fork(self, what: Start, seconds: float) -> Started:
        """A fork that runs `what`. ConnectionError where the server has ended, another OSError where it cannot."""
        heard, go = os.pipe()
        try:
            request = json.dumps({"module": what.module, "arguments": what.arguments}).encode()
            socket.send_fds(self._control, [request], [what.output, what.ready, heard])
            receive = asyncio.get_running_loop().sock_recv(self._control, LONGEST_ANSWER)
            message = await asyncio.wait_for(receive, seconds)
            if not message:
                raise ConnectionResetError("The fork server has ended")
            answer = json.loads(message)
            if "pid" not in answer:
                raise OSError(answer["error"])
            born = Adopted(answer["pid"], self._collect_fork)
            self._forks[born.pid] = born
            os.write(go, b"\n")
            return born
        finally:
            os.close(heard)
            # A fork that has not heard that it is known ends now.
            os.close(go)

    async def end(self, seconds: float = 0.0) -> None:
        """Let it go, kill it where it is still there after `seconds`, and return when nothing of it is left."""
        self._control.close()
        try:
            await asyncio.wait_for(self.process.wait(), seconds)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGKILL)
        await self.process.wait()
        await self._copying

    def _collect_fork(self, pid: int) -> int | None:
        status = _wait_status(pid)
        if status is not None:
            del self._forks[pid]
        return status

    def _collect_group(self, pid: int) -> int | None:
        """The server has ended: end the forks that it had not announced, which are of its process group, and wait for all."""
        os.killpg(pid, signal.SIGKILL)
        own: int | None = None
        with contextlib.suppress(ChildProcessError):
            while True:
                found, status = os.waitpid(-pid, 0)
                if found == pid:
                    own = status
                elif found in self._forks:
                    self._forks.pop(found).has_ended(status)
        return own


class Forking:
    """Keeps a fork server and starts processes through it; spawns them where it does not work.

    A server that nobody asks for a while is let go: what its forks have written since is their own, and what it alone still
    holds of that (17 MB) serves nobody.
    """

    def __init__(
        self,
        modules: Sequence[str],
        environment: Mapping[str, str],
        settings: RuntimeSettings,
        log: ProcessLog,
        changed: Callable[[], None],
    ) -> None:
        self._modules = modules
        self._environment = environment
        self._settings = settings
        self._log = log
        self._changed = changed
        self._spawning = Spawning(environment)
        self._policy = RestartPolicy(settings)
        self._server: ForkServer | None = None
        # Set while there is a server, and when there will be none any more.
        self._decided = asyncio.Event()
        # Set while somebody waits for a server.
        self._wanted = asyncio.Event()
        self._asked_at = monotonic()
        self._turn = asyncio.Lock()
        self._life = asyncio.create_task(self._keep(), name="fork server")

    @property
    def server(self) -> int | None:
        """Process id of the fork server; None where there is none at this moment."""
        return self._server.process.pid if self._server is not None else None

    async def start(self, what: Start) -> Started:
        """Start one; OSError where that is not possible."""
        async with self._turn:
            for _ in range(ATTEMPTS):
                self._asked_at = monotonic()
                self._wanted.set()
                await self._decided.wait()
                server = self._server
                if server is None:
                    break
                try:
                    return await server.fork(what, self._settings.fork_seconds)
                except ConnectionError:
                    await server.process.wait()
                except OSError as error:
                    self._say(f"processes are spawned from now on: {error or 'no answer'}")
                    await self.close()
        return await self._spawning.start(what)

    async def close(self) -> None:
        """No further forks; those that live go on."""
        self._life.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._life
        server, self._server = self._server, None
        self._decided.set()
        if server is not None:
            await server.end(END_SECONDS)
            self._changed()

    async def _keep(self) -> None:
        while True:
            try:
                server = self._server = ForkServer(self._modules, self._environment, self._log)
            except OSError as error:
                self._say(f"it could not be started ({error}): processes are spawned from now on")
                self._decided.set()
                return
            self._asked_at = monotonic()
            self._decided.set()
            self._changed()
            if await self._is_let_go(server):
                await self._wanted.wait()
                continue
            exit_code = await server.process.wait()
            self._decided.clear()
            self._server = None
            await server.end()
            self._changed()
            wait = self._policy.after_death(monotonic(), exit_code, was_ready=True)
            if wait is None:
                self._say(f"it keeps ending (exit code {exit_code}): processes are spawned from now on")
                self._decided.set()
                return
            self._say(f"ended with exit code {exit_code}, started again")
            await asyncio.sleep(wait)

    async def _is_let_go(self, server: ForkServer) -> bool:
        """Whether nobody asked the server for so long that it was let go; False when it has ended by itself."""
        idle = self._settings.fork_idle_seconds
        while server.process.returncode is None:
            rest = self._asked_at + idle - monotonic() if idle else None
            if rest is None or rest > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(server.process.wait(), rest)
                continue
            # Nobody asks it now, and who does next finds that there is none.
            async with self._turn:
                if self._asked_at + idle > monotonic():
                    continue
                self._decided.clear()
                self._wanted.clear()
                await server.end(END_SECONDS)
                self._server = None
            self._changed()
            return True
        return False

    def _say(self, words: str) -> None:
        line = {"event": words, "level": "warning", "process": "supervisor"}
        self._log.feed(json.dumps(line).encode() + b"\n")


def _wait_status(pid: int) -> int | None:
    found, status = os.waitpid(pid, os.WNOHANG)
    return status if found else None
