"""What `up` prints: what runs where, and one line to try."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.markup import escape

from aico_memory.cli.face import Face
from aico_memory.errors import AicoMemoryError
from aico_memory.runtime.deployment import ProcessTable
from aico_memory.runtime.joblog import readable

COLOURS = {"warning": "yellow", "error": "red", "critical": "red", "debug": "dim"}


def announce(face: Face, table: ProcessTable) -> None:
    """The process table as JSON where that is asked for, else the start lines."""
    face.show(asdict(table), lambda _: face.out.print("\n".join(start_lines(face, table))))


def start_lines(face: Face, table: ProcessTable) -> list[str]:
    """What runs where, how it is locked, which model answers, one line to try."""
    address = bus_address(face)
    processes = "  ".join(f"{state.name} [dim]{state.pid}[/]" for state in table.processes)
    lines = [
        f"[bold green]ready[/]  {processes}",
        f"home    {escape(str(face.home.root))}",
        f"bus     {address.get('router', '?')} (publish), {address.get('delivery', '?')} (deliver), CURVE",
        f"keys    {_keys(table.encryption)}",
        f"model   {escape(model_line(face))}",
        f"words   {escape(where_words_go(face))}",
    ]
    if table.clock == "manual":
        lines.append("clock   manual: it stands still until `aico-memory clock set|advance`")
    program = Path(sys.argv[0]).name if not sys.argv[0].endswith("__main__.py") else "aico-memory"
    shown = f".venv/bin/{program}" if Path(sys.prefix).name == ".venv" else program
    lines.append(f"try     {shown} add 'I moved to Lisbon in May' --wait && {shown} search 'where do I live?'")
    return lines


def bus_address(face: Face) -> dict[str, Any]:
    """The broker's endpoints as it wrote them; empty where it did not."""
    try:
        content: dict[str, Any] = json.loads(face.home.bus_address.read_text())
    except (OSError, ValueError):
        return {}
    return content


def model_line(face: Face) -> str:
    """Which embedding model answers, as the model worker says it."""
    from aico_memory.runtime.links import open_link
    from aico_memory.runtime.probe import worker_status

    try:
        with open_link(face.home, "operator") as link:
            return model_words(model_account(worker_status(link, "model")))
    except AicoMemoryError as error:
        return f"not answering ({error.code})"


def where_words_go(face: Face) -> str:
    """Whether what people say leaves this machine."""
    from aico_memory.settings.load import load_settings

    settings = load_settings(face.home).language_model
    if not settings.enabled:
        return "stay on this machine (language_model.enabled is false)"
    return f"what people say is sent to {settings.endpoint} ({settings.model})"


def model_account(status: dict[str, Any]) -> dict[str, Any] | None:
    """What matters of a model worker's status: which model answers, from where, and why that one."""
    if "model" not in status:
        return None
    keys = ("model", "configured", "source", "reason", "served_by", "export_failure", "fingerprint", "languages", "device")
    return {"name": status["model"], **{key: status[key] for key in keys[1:] if key in status}}


def model_words(model: dict[str, Any] | None) -> str:
    """One line about the model that answers."""
    if model is None:
        return "not answering"
    words = f"{model['name']} ({model.get('source', '?')}, served by {model.get('served_by', '?')})"
    if model.get("configured") not in (None, model["name"]):
        words += f"; {model.get('reason', 'not the configured one')}"
    return words


def _keys(source: str) -> str:
    words = {
        "development": "[yellow]development key[/] (made here; set AICO_MEMORY_PASSPHRASE or a key file for real data)",
        "passphrase": "passphrase",
        "key_file": "key file",
        "off": "[red]encryption is off[/]: everything in the home is readable",
    }
    return words.get(source, escape(source))


def say_progress(face: Face, line: str) -> None:
    """How a start goes on, for people."""
    if not face.as_json:
        face.err.print(f"[dim]{escape(line)}[/]")


def echo_line(face: Face, name: str, line: str) -> None:
    """A log line of one process on the terminal."""
    level, text = readable(name, line)
    colour = COLOURS.get(level)
    face.err.print(f"[{colour}]{escape(text)}[/]" if colour else escape(text))
