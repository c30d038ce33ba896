"""doctor: everything that can be checked, each finding with its mend."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.markup import escape

from aico_memory.cli.app import app, command
from aico_memory.cli.checks import Finding, all_findings
from aico_memory.cli.face import Exit, Face, face_of

COLOURS = {"ok": "green", "note": "yellow", "fault": "red"}


@command(app, "doctor", "doctor", "doctor --json", panel="Deployment")
def doctor(context: typer.Context) -> None:
    """Check versions, configuration, keys, permissions, disk, ports, model, stores, spools and clock.

    Exit code 0 without a fault, 1 with one. Nothing is changed.
    """
    face = face_of(context)
    findings = all_findings(face)
    faults = [finding for finding in findings if finding.level == "fault"]
    report = {"ok": not faults, "findings": [asdict(finding) for finding in findings]}
    face.show(report, lambda _: _print(face, findings))
    if faults:
        raise typer.Exit(int(Exit.ERROR))


def _print(face: Face, findings: list[Finding]) -> None:
    for finding in findings:
        colour = COLOURS[finding.level]
        face.out.print(f"[{colour}]{finding.level:<5}[/] [bold]{finding.subject:<13}[/] {escape(finding.detail)}")
        if finding.mend:
            face.out.print(f"      [dim]{escape(finding.mend)}[/]")
