"""The process whose forks are the processes of a deployment: `python -m aico_memory.runtime.fork_server PARENT SOCKET MODULE…`.

It imports what they share, uses once what is set up by its first use, and does nothing else: no thread, no socket but the one
it is asked through, no store, no key.
Pages that a fork does not write stay shared. A fork is orphaned on purpose, so that the supervisor (which adopts orphans) is
its parent: this process can be killed at any time, and nobody else notices.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import select
import socket
import sys
import traceback
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from aico_memory.runtime.kernel import die_with, name_process, threads
from aico_memory.runtime.launch import run_as_main, without_rich

LONGEST_REQUEST = 65_536
OPEN_FILES = 3


@dataclass(frozen=True, slots=True)
class Birth:
    """What a fork is to become."""

    module: str
    arguments: tuple[str, ...]
    # Descriptors: its stdout and stderr, where it says that it is ready, and where it hears that its parent knows of it.
    output: int
    ready: int
    go: int


def serve(control: socket.socket, modules: Sequence[str]) -> Birth | None:
    """Answer requests until the supervisor is gone (None); returns in each fork what that one is to become.

    Modules are loaded while nobody asks, and the one that is asked for before its fork.
    """
    waiting = deque(modules)
    # Collections would leave holes in the heap, which the forks' own objects would fill and so unshare.
    gc.disable()
    while True:
        if waiting and not select.select([control], [], [], 0)[0]:
            _load(waiting.popleft())
            continue
        message, descriptors, _, _ = socket.recv_fds(control, LONGEST_REQUEST, OPEN_FILES, socket.MSG_CMSG_CLOEXEC)
        if not message:
            return None
        request = json.loads(message)
        birth = Birth(request["module"], tuple(request["arguments"]), *descriptors)
        if birth.module in waiting:
            waiting.remove(birth.module)
        _load(birth.module)
        try:
            born = _fork_away()
        except OSError as error:
            answer: dict[str, object] = {"error": str(error)}
        else:
            if born == 0:
                control.close()
                return birth
            answer = {"pid": born}
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(json.dumps(answer).encode())


def become(birth: Birth, parent: int) -> None:
    """Wait until `parent` knows of this fork, then run its module as a process of its own."""
    if not os.read(birth.go, 1):
        os._exit(1)
    os.close(birth.go)
    os.setsid()
    die_with(parent)
    for standard in (1, 2):
        os.dup2(birth.output, standard)
    os.close(birth.output)
    name = birth.module.rpartition(".")[2]
    name_process(f"aico-{name}", " ".join(("aico-memory", name, *birth.arguments)))
    if "numpy" in sys.modules:
        # The generator of the `random` module is seeded anew by Python itself.
        sys.modules["numpy"].random.seed()
    gc.enable()
    run_as_main(birth.module, [*birth.arguments, "--ready-fd", str(birth.ready)])


def _load(module: str) -> None:
    """Import what a process imports at its start; what goes wrong there it will say itself."""
    name = module
    try:
        found = importlib.util.find_spec(module)
        if found is not None and found.submodule_search_locations is not None:
            name = f"{module}.__main__"
        importlib.import_module(name)
        _use_once()
    except (Exception, SystemExit):
        traceback.print_exc()
    # The fork runs it once more, as its main module.
    sys.modules.pop(name, None)


def _use_once() -> None:
    """Have what is imported set itself up, as its first use in a fork would there: memory that every fork had for itself.

    OpenSSL draws up its tables of digests and ciphers, pydantic what validates the settings.
    """
    if "aico_memory.vault.master" in sys.modules:
        from aico_memory.vault.master import derive_key
        from aico_memory.vault.sealer import KEY_BYTES, AeadSealer

        # Zeros are nobody's key.
        AeadSealer(derive_key(bytes(KEY_BYTES), ""))
    if "aico_memory.settings.root" in sys.modules:
        from aico_memory.settings.root import Settings

        Settings()


def _fork_away() -> int:
    """Fork twice, so that the process in between can end: the id of the second one, and 0 there."""
    if threads() > 1:
        raise OSError("A library has started threads, which a fork would not have")
    gc.collect()
    gc.freeze()
    reader, writer = os.pipe()
    between = os.fork()
    if between == 0:
        born = os.fork()
        if born:
            os.write(writer, str(born).encode())
            os._exit(0)
        os.close(reader)
        os.close(writer)
        return 0
    os.close(writer)
    try:
        os.waitpid(between, 0)
        answer = os.read(reader, 32)
    finally:
        os.close(reader)
    if not answer:
        raise OSError("The fork could not fork")
    return int(answer)


def main() -> int:
    """Serve; in a fork this returns when what it became has ended."""
    parent = int(sys.argv[1])
    die_with(parent)
    without_rich()
    birth = serve(socket.socket(fileno=int(sys.argv[2])), sys.argv[3:])
    if birth is not None:
        become(birth, parent)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
