"""Generate docs/TOPICS.md and docs/CONFIGURATION.md: `python scripts/gen_docs.py [--check]`.

Topics come from the contracts, settings from their models. With `--check`
nothing is written and a difference fails.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from aico_memory.contracts.registry import topics
from aico_memory.settings.load import ENVIRONMENT_PREFIX
from aico_memory.settings.root import Settings
from aico_memory.settings.section import Section

ROOT = Path(__file__).resolve().parent.parent
BROKER_DEFAULT = "–"
BOUNDS = (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))


def topic_page() -> str:
    """The table of all topics."""
    lines = [
        "# Topics",
        "",
        "Generated from the contracts by `make docs`; do not edit. One topic carries one message.",
        "Durable topics are on disk before they are acknowledged; ephemeral ones may be lost.",
        "External topics are part of a recording; internal ones are made again when it is replayed.",
        "An identity that is bound to certain users publishes for these: where a user is needed, where one may be named",
        "(`may`), and what is nobody's.",
        f"Where retention or size says {BROKER_DEFAULT}, the broker's defaults hold (`bus` in CONFIGURATION.md).",
        "",
        "| topic | message | delivery | origin | owner | answer | user | retention | size |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for topic in topics().values():
        cells = (
            f"`{topic.name}`",
            topic.message.DESCRIPTOR.name,
            "durable" if topic.durable else "ephemeral",
            "external" if topic.external else "internal",
            topic.owner,
            topic.reply.DESCRIPTOR.name if topic.reply else "",
            "yes" if topic.needs_user else "may" if topic.may_name_user else "nobody's" if topic.about_nobody else "",
            f"{topic.retention_hours} h" if topic.retention_hours else BROKER_DEFAULT,
            f"{topic.max_bytes:,} B" if topic.max_bytes else BROKER_DEFAULT,
        )
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "Answers come on `memory/reply/<identity>/<session>/v1/`, which only the requester may hear.", ""]
    return "\n".join(lines)


def configuration_page() -> str:
    """All settings with default, range and meaning."""
    lines = [
        "# Configuration",
        "",
        "Generated from the settings by `make docs`; do not edit. Read in this order, the later wins:",
        "`config/memory.yaml` of the code, `config/memory.yaml` in the home, environment variables such as",
        f"`{ENVIRONMENT_PREFIX}bus__max_bytes=2000000`. An unknown key or a value out of range is refused with its path.",
    ]
    for name, field in Settings.model_fields.items():
        section: Any = field.annotation
        lines += ["", f"## {name}", "", (section.__doc__ or "").strip().splitlines()[0], ""]
        lines += ["| key | default | range | meaning |", "|---|---|---|---|"]
        lines += list(_rows(section, f"{name}.", _instance(field)))
    return "\n".join([*lines, ""])


def _rows(section: type[Section], prefix: str, defaults: Section | None) -> Iterator[str]:
    """The settings of a section; `defaults`: one as it is where nothing is given, which may differ from others of its type."""
    for name, field in section.model_fields.items():
        kind: Any = field.annotation
        value = field.get_default(call_default_factory=True) if defaults is None else getattr(defaults, name)
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from _rows(kind, f"{prefix}{name}.", value if isinstance(value, Section) else None)
            continue
        cells = (f"`{prefix}{name}`", _default(value), _range(field), (field.description or "").replace("|", "\\|"))
        yield "| " + " | ".join(cells) + " |"


def _instance(field: FieldInfo) -> Section | None:
    value = field.get_default(call_default_factory=True)
    return value if isinstance(value, Section) else None


def _default(value: Any) -> str:
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, (list, tuple, dict)) and len(str(value)) > 80:
        return f"{len(value)} entries"
    return f"`{value!r}`".replace("|", "\\|")


def _range(field: FieldInfo) -> str:
    found = []
    for rule in field.metadata:
        found += [f"{sign} {getattr(rule, name):,}" for name, sign in BOUNDS if getattr(rule, name, None) is not None]
        pattern = getattr(rule, "pattern", None)
        if pattern:
            found.append(f"`{pattern}`".replace("|", "\\|"))
    return ", ".join(found)


PAGES = {"docs/TOPICS.md": topic_page, "docs/CONFIGURATION.md": configuration_page}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only, exit 1 on a difference")
    options = parser.parse_args()
    stale = 0
    for name, page in PAGES.items():
        path, text = ROOT / name, page()
        if options.check:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                sys.stderr.write(f"{name} differs from what the code says; run: make docs\n")
                stale += 1
            continue
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
