"""Selection policies from the command line: which there are, and what another one would be worth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.markup import escape

from aico_memory.cli.app import app, command
from aico_memory.cli.behavior import PANEL
from aico_memory.cli.face import Face, face_of
from aico_memory.errors import InvalidMessage
from aico_memory.settings.behavioral import DECIDING
from aico_memory.settings.load import load_settings

SAID = {
    "better": "The candidate is better: its value is higher, beyond the interval.",
    "worse": "The candidate is worse: its value is lower, beyond the interval.",
    "no_difference": "No difference that this log could tell.",
    "too_few_decisions": "Too few usable decisions: nothing can be recommended.",
    "too_little_support": "The log holds too little of what one of them would take: nothing can be recommended.",
    "unchanged": "Nothing that decides is changed.",
}


@command(app, "policies", "policies", panel=PANEL)
def policies(context: typer.Context) -> None:
    """The selection policies, and the priors that were learned from people."""
    face = face_of(context)
    with face.client() as client:
        found = client.policies()

    def show(data: dict[str, Any]) -> None:
        for one in data["policies"]:
            mark = " (in use)" if one["in_use"] else ""
            face.out.print(f"[bold]{escape(one['name'])}[/]{mark}  {escape(one['description'])}")
        face.out.print(f"prior in use: {escape(data['prior'])}")
        columns = ("version", "fitted_at", "users", "thumbs", "status")
        face.table(columns, [[entry[key] for key in columns] for entry in data["priors"]])

    face.show(found, show)


@command(
    app, "evaluate-policy", "evaluate-policy --policy hybrid-40-30-30",
    "evaluate-policy --set hierarchical.temperature=0.3", "evaluate-policy", panel=PANEL,
)  # fmt: skip
def evaluate_policy(
    context: typer.Context,
    policy: Annotated[str | None, typer.Option(help="The candidate; see `policies`.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="path=value of `behavioral` in config/memory.yaml; repeatable.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="A config/memory.yaml to be; its `behavioral` is the candidate.")] = None,
) -> None:
    """What another policy would have been worth on what was logged, before it is used; without options: what the home's
    config/memory.yaml says by now, and what would hold after a restart."""
    face = face_of(context)
    if file is not None:
        wanted = _of_file(file)
    elif policy or settings:
        wanted = {}
    else:
        configured = load_settings(face.home).behavioral
        wanted = configured.model_dump(mode="json", include=set(DECIDING))
    for one in settings or ():
        path, sign, value = one.partition("=")
        if not sign or not path:
            raise InvalidMessage(f"{one!r} is no path=value", "For example hierarchical.temperature=0.3")
        _put(wanted, path.removeprefix("behavioral.").split("."), _read(one, value))
    with face.client() as client:
        found = client.evaluate_policy(policy, wanted)
    face.show(found, lambda _: _show(face, found))


def _show(face: Face, found: Mapping[str, Any]) -> None:
    face.out.print(f"[bold]{SAID.get(found['outcome'], found['outcome'])}[/]")
    for change in found["changes"]:
        face.out.print(f"  {escape(change)}")
    columns = ("", "policy", "thumbs up", "95 % interval", "effective decisions", "support")
    rows = [
        [name, one["policy"], f"{one['value']:.3f}", f"{one['low']:.3f}–{one['high']:.3f}", f"{one['effective']:.0f}",
         f"{one['support']:.2f}"]
        for name, one in (("in use", found["in_use"]), ("candidate", found["candidate"]))
    ]  # fmt: skip
    face.table(columns, rows)
    face.out.print(f"difference {found['difference']:+.3f} ({found['low']:+.3f} to {found['high']:+.3f})")
    left = ", ".join(f"{count} {why}" for why, count in found["left_out"].items())
    face.out.print(
        f"{found['decisions']} decisions of {found['people']} people, {found['observed']:.0%} with a thumb up"
        + (f"; left out: {left}" if left else "")
    )


def _of_file(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidMessage(f"{path} cannot be read: {error}") from error
    said = content.get("behavioral", {}) if isinstance(content, dict) else None
    if not isinstance(said, dict):
        raise InvalidMessage(f"{path} holds no mapping with `behavioral`", "Give a file as config/memory.yaml.")
    return {name: value for name, value in said.items() if name in DECIDING}


def _read(one: str, value: str) -> Any:
    try:
        return yaml.safe_load(value)
    except (ValueError, yaml.YAMLError) as error:
        raise InvalidMessage(f"The value of {one!r} is no YAML: {' '.join(str(error).split())}") from error


def _put(into: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        into = into.setdefault(name, {})
        if not isinstance(into, dict):
            raise InvalidMessage(f"{'.'.join(path)} is no setting")
    into[path[-1]] = value
