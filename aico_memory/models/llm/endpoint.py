"""Which endpoint may be spoken to, and with which key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from aico_memory.errors import ConfigurationInvalid
from aico_memory.settings.language_model import LanguageModelSettings
from aico_memory.vault.permissions import require_private


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where questions go. The key shows nowhere: not in logs, not in errors, not in `repr`."""

    url: str
    host: str
    key: str = field(repr=False, default="")


def endpoint_of(settings: LanguageModelSettings, environment: Mapping[str, str]) -> Endpoint:
    """The endpoint of these settings.

    ConfigurationInvalid where its host is not among `allowed_hosts`, where the address holds a password, and where
    a key would cross a network unencrypted. InsecurePermissions where others can read the key's file.
    """
    parts = urlsplit(settings.endpoint)
    host = parts.hostname or ""
    if parts.username or parts.password:
        raise ConfigurationInvalid(
            "language_model.endpoint holds a name or password",
            "Give the key by language_model.api_key_variable or api_key_file.",
        )
    if host not in settings.allowed_hosts:
        raise ConfigurationInvalid(
            f"language_model.endpoint names the host {host!r}, which language_model.allowed_hosts does not",
            "Name the host there if messages may be sent to it.",
        )
    key = _key(settings, environment)
    if key and parts.scheme != "https" and not _is_here(host):
        raise ConfigurationInvalid(
            f"The key would be sent to {host!r} unencrypted", "Use an https endpoint, or one on this machine."
        )
    return Endpoint(f"{settings.endpoint.rstrip('/')}/chat/completions", host, key)


def _key(settings: LanguageModelSettings, environment: Mapping[str, str]) -> str:
    if not settings.api_key_file:
        return environment.get(settings.api_key_variable, "").strip()
    path = Path(settings.api_key_file).expanduser()
    if not path.exists():
        raise ConfigurationInvalid(f"language_model.api_key_file: there is no {path}")
    require_private(path)
    return path.read_text(encoding="utf-8").strip()


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
