"""Memories in a row, for people; and that there are more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.markup import escape

from aico_memory.cli.face import Face


def say_if_cut(face: Face, found: Mapping[str, Any], how: str = "--limit says how much is shown") -> None:
    """That there is more than is shown, and how to see it."""
    if found["cut"]:
        face.out.print(f"[dim]There is more; {how}.[/]")


def print_results(face: Face, found: dict[str, Any]) -> None:
    """What was found or listed, each with when it was said."""
    results = found["results"]
    if not results:
        away = "semantic" in found.get("degraded", ())
        face.out.print("Nothing was searched: the semantic worker does not answer." if away else "Nothing found.")
    for number, result in enumerate(results, 1):
        score = result.get("score")
        shown = f"{score:.3f}  " if isinstance(score, float) else ""
        answers = "  [green]answers[/]" if result.get("answers") else ""
        face.out.print(f"[bold]{number:>2}[/]  {shown}{escape(result['memory'])}{answers}")
        face.out.print(f"    [dim]{escape(_told_of(result))}  {result.get('kind')}  {result['id']}[/]")
        if result.get("shares"):
            face.out.print(
                "    [dim]" + escape("  ".join(f"{name} {share:.3f}" for name, share in result["shares"].items())) + "[/]"
            )
    for left_out in found.get("dropped", ()):
        face.out.print(f"[dim]left out  {left_out['id']}  {escape(left_out['rule'])}[/]")
    if found.get("degraded"):
        face.out.print(f"[yellow]degraded[/]  {escape(', '.join(found['degraded']))}")


def _told_of(result: Mapping[str, Any]) -> str:
    """When it was said, whenever it was stored; and until when it held, where it does so no more."""
    said = next((source["timestamp"] for source in result["sources"] if source["timestamp"]), None)
    told = str(said or result["valid_from"] or result["created_at"])
    if result["status"] == "active":
        over = result.get("over_since")
        return f"{told}  over since {over}" if over else told
    return f"{told}  {result['status']}" + f" until {result['valid_until']}" * bool(result["valid_until"])
