"""Note the contracts as released: `python scripts/release_contracts.py`.

Writes their descriptors to `proto/released.binpb`, against which the tests hold
every later change. Refuses where the contracts break what was released before.
"""

from __future__ import annotations

import sys
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from aico_memory.contracts.compat import current_descriptors, incompatibilities

RELEASED = Path(__file__).resolve().parent.parent / "proto" / "released.binpb"


def main() -> int:
    new = current_descriptors()
    if RELEASED.exists():
        broken = incompatibilities(FileDescriptorSet.FromString(RELEASED.read_bytes()), new)
        if broken:
            sys.stderr.write("\n".join(broken) + "\n")
            return 1
    RELEASED.write_bytes(new.SerializeToString(deterministic=True))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
