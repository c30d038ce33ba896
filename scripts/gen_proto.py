"""Compile the contracts: `python scripts/gen_proto.py [--check]`.

Generates Python code and type stubs next to the package (no import rewriting:
`protoc -I proto --python_out=.` lands in `aico_memory/contracts/v1`). With
`--check` it compiles into a temporary folder and fails on any difference.
"""

from __future__ import annotations

import argparse
import filecmp
import shutil
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("aico_memory/contracts/v1")


def compile_into(target: Path) -> None:
    """Compile every contract below `proto/` into `target`; raise SystemExit on an error."""
    sources = sorted(str(path.relative_to(ROOT / "proto")) for path in (ROOT / "proto").rglob("*.proto"))
    arguments = [
        "protoc",
        f"-I{ROOT / 'proto'}",
        f"-I{files('grpc_tools') / '_proto'}",
        f"--python_out={target}",
        f"--plugin=protoc-gen-mypy={Path(sys.executable).with_name('protoc-gen-mypy')}",
        f"--mypy_out=quiet:{target}",
        *sources,
    ]
    if protoc.main(arguments) != 0:
        raise SystemExit("protoc failed; its message stands above")


def differences(generated: Path, committed: Path) -> list[str]:
    """Names of generated files that differ from the committed ones or stand on one side only."""
    names = {path.name for path in generated.glob("*_pb2.py*")} | {path.name for path in committed.glob("*_pb2.py*")}
    found = []
    for name in sorted(names):
        left, right = generated / name, committed / name
        if not left.exists() or not right.exists() or not filecmp.cmp(left, right, shallow=False):
            found.append(name)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only, exit 1 on a difference")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compile_into(Path(folder))
        generated, committed = Path(folder) / PACKAGE, ROOT / PACKAGE
        changed = differences(generated, committed)
        if options.check:
            for name in changed:
                sys.stderr.write(f"differs from what the contracts say: {PACKAGE / name}\n")
            if changed:
                sys.stderr.write("run: make proto\n")
            return 1 if changed else 0
        for path in generated.glob("*_pb2.py*"):
            shutil.copyfile(path, committed / path.name)
        for path in committed.glob("*_pb2.py*"):
            if not (generated / path.name).exists():
                path.unlink()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
