"""The checks of `doctor`; each gives findings and touches nothing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from aico_memory.cli.announce import bus_address, model_words
from aico_memory.cli.face import Face
from aico_memory.cli.status import alarm_words, gather_status, size_words, store_sizes
from aico_memory.client.spool import SET_ASIDE
from aico_memory.errors import AicoMemoryError
from aico_memory.runtime.clocks import MANUAL, clock_for, clock_mode
from aico_memory.runtime.deployment import running_supervisor

LOW_DISK = 1_000_000_000
PACKAGES = ("pyzmq", "protobuf", "lmdb", "sqlcipher3", "chromadb", "onnxruntime", "torch", "sentence-transformers")
MANY_RESTARTS = 3
SQL_STORES = ("semantic", "behavioral", "consolidation", "scheduler")
# The small file by which a key is held against a store.
STORES = {"working": "store.proof", **{name: f"{name}.db.proof" for name in SQL_STORES}}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked."""

    subject: str
    level: Literal["ok", "note", "fault"]
    detail: str
    mend: str = ""


def all_findings(face: Face) -> list[Finding]:
    """All checks; one that fails with a typed error becomes a fault with that error's mend."""
    checks: tuple[tuple[str, Callable[[Face], Iterator[Finding]]], ...] = (
        ("versions", _versions), ("configuration", _configuration), ("tables", _tables), ("schedule", _schedule),
        ("language model", _language_model), ("home", _home), ("keys", _keys), ("access", _access),
        ("stores", _stores), ("spool", _spool), ("disk", _disk), ("clock", _clock),
        ("processes", _processes), ("ports", _ports),
    )  # fmt: skip
    found: list[Finding] = []
    for subject, check in checks:
        try:
            found.extend(check(face))
        except AicoMemoryError as error:
            found.append(Finding(subject, "fault", error.detail, error.mend))
        except OSError as error:
            found.append(Finding(subject, "fault", str(error), "Look at the permissions of the home."))
    return found


def _versions(face: Face) -> Iterator[Finding]:
    import zmq

    missing = []
    known = []
    for package in PACKAGES:
        try:
            known.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(package)
    yield Finding("versions", "ok", f"Python {platform.python_version()}, libzmq {zmq.zmq_version()}, {', '.join(known)}")
    if missing:
        yield Finding("versions", "fault", f"not installed: {', '.join(missing)}", "Run `make install` anew.")
    if not zmq.has("curve"):
        yield Finding("versions", "fault", "libzmq has no CURVE", "Install pyzmq from its wheel, not the system's package.")
    if zmq.zmq_version_info() < (4, 3, 5):
        yield Finding("versions", "fault", "libzmq is older than 4.3.5", "Install pyzmq from its wheel.")


def _configuration(face: Face) -> Iterator[Finding]:
    from aico_memory.settings.load import load_settings

    load_settings(face.home)
    yield Finding("configuration", "ok", "all keys are known and in range")


def _tables(face: Face) -> Iterator[Finding]:
    """Whether the files by which questions are read and answers ranked would let their workers start."""
    from aico_memory.models.language_tables import load_function_words, load_tables
    from aico_memory.models.question_tables import load_routing
    from aico_memory.models.ranking_tables import configured_profiles, load_time_cues
    from aico_memory.settings.load import load_settings

    profiles = configured_profiles(face.home, load_settings(face.home).retrieval)
    load_function_words(face.home)
    load_routing(face.home)
    load_time_cues(face.home)
    yield Finding("tables", "ok", f"{len(load_tables(face.home))} languages, {len(profiles)} ranking profiles")


def _schedule(face: Face) -> Iterator[Finding]:
    """Whether the scheduler would start with the file as it is now."""
    from aico_memory.runtime.schedule_file import load_schedule

    jobs = load_schedule(face.home)
    off = sorted(name for name, job in jobs.items() if not job.enabled)
    yield Finding("schedule", "ok", f"{len(jobs) - len(off)} jobs are on; off: {', '.join(off) or 'none'}")


def _language_model(face: Face) -> Iterator[Finding]:
    """Whether what people say leaves this machine, and whether its endpoint may be spoken to."""
    from aico_memory.models.llm.endpoint import endpoint_of
    from aico_memory.settings.load import load_settings

    settings = load_settings(face.home).language_model
    if not settings.enabled:
        yield Finding("language model", "ok", "off: nothing that is said is sent anywhere")
        return
    endpoint = endpoint_of(settings, os.environ)
    key = "with a key" if endpoint.key else "without a key"
    yield Finding("language model", "note", f"what people say is sent to {endpoint.host} ({settings.model}), {key}")


def _home(face: Face) -> Iterator[Finding]:
    root = face.home.root
    if not root.exists():
        yield Finding("home", "note", f"{root} does not exist yet", "`aico-memory up` makes it.")
        return
    mode = root.stat().st_mode & 0o777
    if mode & 0o077:
        yield Finding("home", "note", f"{root} can be entered by others (mode {mode:o})", f"chmod 700 '{root}'")
    else:
        yield Finding("home", "ok", str(root))


def _keys(face: Face) -> Iterator[Finding]:
    import os

    from aico_memory.settings.load import load_settings
    from aico_memory.vault.master import MASTER_FILE, open_vault

    if not (face.home.keys / MASTER_FILE).exists():
        yield Finding("keys", "note", "no master key yet", "`aico-memory up` or `aico-memory keys init` makes it.")
        return
    vault = open_vault(face.home, load_settings(face.home).security, os.environ)
    if vault.source == "development":
        yield Finding(
            "keys", "note", "the home is locked by a development key that lies in it",
            "For real data: aico-memory keys rotate-master --new-passphrase-env VARIABLE",
        )  # fmt: skip
    elif vault.source == "off":
        yield Finding("keys", "note", "encryption is off", "Set security.encryption to on in a fresh home.")
    else:
        yield Finding("keys", "ok", f"the {vault.source.replace('_', ' ')} opens the vault")


def _stores(face: Face) -> Iterator[Finding]:
    """Whether the keys of this home open its stores; nothing in them is opened."""
    import os

    from aico_memory.settings.load import load_settings
    from aico_memory.stores.ownership import check_key
    from aico_memory.vault.master import MASTER_FILE, open_vault

    if not (face.home.keys / MASTER_FILE).exists():
        return
    vault = open_vault(face.home, load_settings(face.home).security, os.environ)
    for name, proof in STORES.items():
        folder = face.home.store(name)
        if folder.exists():
            check_key(folder / proof, vault.store_key(name))
    yield Finding("stores", "ok", size_words(store_sizes(face.home)))


def _spool(face: Face) -> Iterator[Finding]:
    """What clients with a spool were acknowledged on this side and the bus never took."""
    for path in sorted(face.home.spool.glob(f"*{SET_ASIDE}")):
        size = path.stat().st_size
        yield Finding(
            "spool", "note", f"the bus refused what {path.stem} had kept; {size} bytes of it are set aside, sealed, in {path}",
            "The log of that client names the reasons; give it again, then delete the file.",
        )  # fmt: skip


def _access(face: Face) -> Iterator[Finding]:
    from aico_memory.bus.access import load_access
    from aico_memory.paths import config_file
    from aico_memory.vault.curve_keys import list_identities

    rules = load_access(config_file(face.home, "access.yaml"))
    listed = [entry for entry in list_identities(face.home) if entry.revoked_at is None]
    unknown = sorted({entry.role for entry in listed} - set(rules.roles))
    if unknown:
        yield Finding(
            "access", "fault", f"roles that access.yaml does not know: {', '.join(unknown)}", "Add them, or revoke the keys."
        )
    else:
        yield Finding("access", "ok", f"{len(listed)} identities are let in")


def _disk(face: Face) -> Iterator[Finding]:
    place = next((folder for folder in (face.home.root, *face.home.root.parents) if folder.exists()), None)
    if place is None:
        return
    free = shutil.disk_usage(place).free
    level: Literal["ok", "fault"] = "ok" if free > LOW_DISK else "fault"
    mend = "" if level == "ok" else "Free space; durable publishes are refused when the disk is full."
    yield Finding("disk", level, f"{free / 1e9:.1f} GB free", mend)


def _clock(face: Face) -> Iterator[Finding]:
    mode = clock_mode(face.home)
    detail = f"{mode}, {clock_for(face.home).now().isoformat(timespec='seconds')}"
    mend = "For development only: nothing ages by itself." if mode == MANUAL else ""
    yield Finding("clock", "note" if mode == MANUAL else "ok", detail, mend)


def _processes(face: Face) -> Iterator[Finding]:
    report = gather_status(face)
    if not report["running"]:
        for alarm in report["alarms"]:
            yield Finding("alarms", "fault", alarm_words(alarm), alarm["mend"])
        yield Finding("processes", "note", "nothing runs in this home", "Start it: aico-memory up --detach")
        return
    for process in report["processes"]:
        if process["state"] != "running":
            log = face.home.logs / f"{process['name']}.log"
            yield Finding("processes", "fault", f"{process['name']} is {process['state']}: {process['reason']}", f"Read {log}.")
        elif process["restarts"] >= MANY_RESTARTS:
            yield Finding(
                "processes", "note", f"{process['name']} was restarted {process['restarts']} times: {process['reason']}"
            )
    for alarm in report["alarms"]:
        # What has been and cannot be undone is told for good, and is no fault for good.
        level: Literal["note", "fault"] = "note" if alarm.get("past") else "fault"
        yield Finding("alarms", level, alarm_words(alarm), alarm.get("mend") or "See `aico-memory status --json`.")
    yield Finding("model", "ok" if report["model"] else "fault", model_words(report["model"]))
    behind = [f"{consumer['name']} {consumer['lag']}" for consumer in report["consumers"] if consumer["lag"]]
    yield Finding("processes", "ok", f"{len(report['processes'])} known; behind: {', '.join(behind) or 'nobody'}")


def _ports(face: Face) -> Iterator[Finding]:
    if running_supervisor(face.home) is None:
        return
    address = bus_address(face)
    for key in ("router", "delivery"):
        endpoint = str(address.get(key, ""))
        host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=2).close()
        except (OSError, ValueError) as error:
            yield Finding(
                "ports", "fault", f"{key} at {endpoint or '?'} does not answer: {error}", "aico-memory restart broker"
            )
        else:
            yield Finding("ports", "ok", f"{key} answers at {endpoint}")
