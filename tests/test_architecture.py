"""The floors hold: imports point down only, rules stay pure, modules stay small."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 350
GENERATED = ROOT / "aico_memory" / "contracts" / "v1"

FLOOR = {
    "errors": 0, "clock": 0, "ids": 0, "settings": 0, "log": 0, "paths": 0,
    "domain": 1,
    "contracts": 2, "vault": 2,
    "bus": 3, "stores": 3, "models": 3,
    "runtime": 4, "client": 4, "cli": 4, "bench": 4,
}  # fmt: skip
SIBLINGS = {"bus", "stores", "models"}
IMPURE_MODULES = {
    "os", "sys", "io", "time", "socket", "threading", "subprocess", "asyncio", "pathlib", "tempfile", "secrets", "lmdb",
    "zmq", "sqlcipher3", "sqlite3", "chromadb", "structlog", "logging", "requests", "urllib", "torch", "onnxruntime",
}  # fmt: skip
IMPURE_CALLS = {"datetime.now", "datetime.utcnow", "datetime.today", "date.today", "uuid.uuid4", "uuid.uuid1", "open"}


def hand_written() -> list[Path]:
    folders = ("aico_memory", "services", "scripts")
    files = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return sorted(path for path in files if GENERATED not in path.parents)


def of_tests() -> list[Path]:
    return sorted((ROOT / "tests").rglob("*.py"))


def place(path: Path) -> str:
    """`domain` for aico_memory/domain/x.py, `errors` for aico_memory/errors.py, `services` for services/…"""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[1] if parts[0] == "aico_memory" and len(parts) > 1 else parts[0]


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the floor"
            yield node.lineno, node.module or ""
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def test_every_part_has_its_floor() -> None:
    parts = {place(path) for path in hand_written() if path.relative_to(ROOT).parts[0] == "aico_memory"}
    assert parts - {"__init__"} <= set(FLOOR), "a new part of aico_memory needs a floor here and in ARCHITECTURE.md"


@pytest.mark.parametrize("path", hand_written(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    here = place(path)
    if here in {"services", "scripts", "__init__"}:
        return
    for line, name in imported(ast.parse(path.read_text(encoding="utf-8"))):
        if name.split(".")[0] == "services":
            pytest.fail(f"{path}:{line} imports {name}: services are the top floor")
        if not name.startswith("aico_memory."):
            continue
        there = name.split(".")[1]
        if there not in FLOOR or there == here:
            continue
        assert FLOOR[there] <= FLOOR[here], f"{path}:{line} imports {name}, which is on a higher floor"
        if here in SIBLINGS and there in SIBLINGS:
            pytest.fail(f"{path}:{line} imports {name}: siblings of floor 3 never meet")
        if here == "domain":
            assert FLOOR[there] == 0, f"{path}:{line} imports {name}"


@pytest.mark.parametrize(
    "path", [path for path in hand_written() if place(path) == "domain"], ids=lambda path: str(path.relative_to(ROOT))
)
def test_rules_are_pure(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for line, name in imported(tree):
        assert name.split(".")[0] not in IMPURE_MODULES, f"{path}:{line} imports {name}"
        assert name not in {"aico_memory.clock.SystemClock", "aico_memory.log"}, f"{path}:{line} imports {name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert not any(called == bad or called.endswith("." + bad) for bad in IMPURE_CALLS), (
                f"{path}:{node.lineno} {called}"
            )
            in_module_random = called.startswith("random.") and called != "random.Random"
            assert not in_module_random and not called.startswith("np.random."), f"{path}:{node.lineno} {called}"


@pytest.mark.parametrize("path", hand_written(), ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_are_small_and_do_not_print(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES, f"{path} is too long: cut it by idea"
    for node in ast.walk(ast.parse(text)):
        is_print = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        assert not is_print, f"{path}:{node.lineno} prints; use the log or the console of the command line"


def test_modules_of_tests_are_small() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in of_tests()}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}, "too long: cut them by idea"


def test_tests_never_sleep() -> None:
    for path in of_tests():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                renamed = {alias.name for alias in node.names if alias.asname} & {"time", "asyncio", "sleep"}
                assert not renamed, f"{path}:{node.lineno} gives {renamed} another name, under which a sleep would not be seen"
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"time.sleep", "asyncio.sleep", "sleep"}:
                zero = len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
                assert zero, f"{path}:{node.lineno} sleeps; wait for the event itself"


def test_only_the_model_floor_imports_torch() -> None:
    heavy = ("torch", "sentence_transformers", "transformers")
    for path in hand_written():
        if place(path) in {"models", "scripts"}:
            continue
        for line, name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            assert name.split(".")[0] not in heavy, f"{path}:{line} imports {name}"
