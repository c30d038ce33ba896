"""Who may do what on the bus: roles from config/access.yaml, decided by pure functions.

A role names topic prefixes for publishing and for subscribing. Two rules stand
above every role: a reply topic is heard only by the identity it names, and an
identity bound to some users publishes and reads only for those.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field, ValidationError, field_validator

from aico_memory.contracts.registry import Topic, topics
from aico_memory.contracts.wire import HEADS_TOPIC, REPLY_PREFIX
from aico_memory.errors import AccessDenied, AicoMemoryError, ConfigurationInvalid, InvalidMessage, UnknownTopic
from aico_memory.settings.section import Section

REPLY_TOPIC = re.compile(r"memory/reply/([a-z0-9][a-z0-9_-]{0,63})/[0-9a-f]{32}/v1/")
MARKS_TOPIC = re.compile(r"_bus/marks/[0-9a-f]{32}/")
READY_TOPIC = re.compile(r"_bus/ready/[0-9a-f]{32}/[0-9a-zA-Z_-]{1,64}/")
ControlVerb = Literal[
    "ping", "report", "consumers", "consumer_remove", "topics", "connections", "statistics",
    "dead_letters", "dead_letter_settle", "read_only", "read_only_state",
]  # fmt: skip
ALL_USERS: Literal["all"] = "all"
STOP_VERB = "read_only"
Scopes = Literal["all"] | tuple[str, ...]


class Role(Section):
    """One role of config/access.yaml."""

    publish: tuple[str, ...] = Field((), description="Prefixes of topics it may publish on.")
    subscribe: tuple[str, ...] = Field((), description="Prefixes of topics it may hear and replay.")
    controls: tuple[ControlVerb, ...] = Field(("ping",), description="Questions it may put to the broker itself.")
    replies: bool = Field(False, description="It answers requests: it may publish on anybody's reply topic.")
    publish_per_second: float | None = Field(None, gt=0, description="Records a second; none: bus.publish_per_second.")
    connections: int | None = Field(None, ge=1, description="Connections of one identity; none: bus.connections_per_identity.")

    @field_validator("publish", "subscribe")
    @classmethod
    def _known(cls, prefixes: tuple[str, ...]) -> tuple[str, ...]:
        for prefix in prefixes:
            if not prefix.endswith("/") or not any(name.startswith(prefix) for name in topics()):
                raise ValueError(f"{prefix!r} is the beginning of no topic; prefixes end with a slash")
        return prefixes


class AccessRules(Section):
    """The whole of config/access.yaml."""

    roles: dict[str, Role]


@dataclass(frozen=True, slots=True)
class Identity:
    """An authenticated identity: what its key stands for at this moment."""

    name: str
    # What the handshake stamps on its messages: name and a digest of the key, so that a changed key is another peer.
    user_id: str
    role_name: str
    role: Role
    scopes: Scopes

    def covers(self, user: str) -> bool:
        """Whether it may act for this user ("" is nobody in particular)."""
        return self.scopes == ALL_USERS or user in self.scopes


def load_access(path: Path) -> AccessRules:
    """The access rules of a file; ConfigurationInvalid names what is wrong."""
    try:
        return AccessRules.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise ConfigurationInvalid(f"The access rules {path} are missing") from error
    except yaml.YAMLError as error:
        raise ConfigurationInvalid(f"{path} is no valid YAML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigurationInvalid(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def refuse_publish(identity: Identity, topic: str, user: str) -> AicoMemoryError | None:
    """Why this identity may not publish this, or None where it may."""
    if topic.startswith(REPLY_PREFIX):
        if not REPLY_TOPIC.fullmatch(topic):
            return UnknownTopic(f"{topic!r} is no reply topic")
        if not identity.role.replies:
            return _denied(identity, "answer requests")
    else:
        declared = topics().get(topic)
        if declared is None:
            return UnknownTopic(f"No contract declares the topic {topic!r}")
        if not _allowed(identity.role.publish, topic):
            return _denied(identity, f"publish on {topic}")
        if declared.needs_user and not user:
            return InvalidMessage(f"A record on {topic} must name its user")
        if declared.about_nobody and not user:
            return None
        if identity.scopes != ALL_USERS and not declared.needs_user and not (declared.may_name_user and user):
            mend = "Name one of its users, or ask" if declared.may_name_user else "Ask"
            return AccessDenied(
                f"The identity {identity.name!r} is bound to certain users; {topic} concerns all of them",
                f"{mend} an identity without bounds to do it.",
            )
    if not identity.covers(user):
        return AccessDenied(
            f"The identity {identity.name!r} is bound to certain users, {user or 'none'!r} is not among them",
            "Publish for a user of its scopes, or add the user to the identity's scopes.",
        )
    return None


def refuse_subscribe(identity: Identity, prefix: str) -> AicoMemoryError | None:
    """Why this identity may not hear what comes on this topic or prefix, or None where it may."""
    if prefix.encode() == HEADS_TOPIC or READY_TOPIC.fullmatch(prefix) or MARKS_TOPIC.fullmatch(prefix):
        return None
    if prefix.startswith(REPLY_PREFIX):
        match = REPLY_TOPIC.fullmatch(prefix)
        if match is None or match[1] != identity.name:
            return _denied(identity, f"hear {prefix}: a reply topic is its requester's alone")
        return None
    refusal = refuse_read(identity, prefix)
    if refusal is None and identity.scopes != ALL_USERS and any(topic.durable for topic in _covered(prefix)):
        return AccessDenied(
            f"The identity {identity.name!r} is bound to certain users and cannot hear {prefix} live",
            "Read the range of its users instead: the consumer of an identity with scopes replays, it does not subscribe.",
        )
    return refusal


def refuse_read(identity: Identity, prefix: str) -> AicoMemoryError | None:
    """Why this identity may not read the journal of this topic or prefix, or None where it may."""
    if not prefix.endswith("/") or not _covered(prefix):
        return UnknownTopic(f"No contract declares a topic under {prefix!r}")
    if not _allowed(identity.role.subscribe, prefix):
        return _denied(identity, f"subscribe to {prefix}")
    return None


def refuse_control(identity: Identity, verb: str) -> AicoMemoryError | None:
    """Why this identity may not put this question to the broker, or None where it may."""
    if verb not in identity.role.controls:
        return _denied(identity, f"ask the broker for {verb!r}")
    if verb == STOP_VERB and identity.scopes != ALL_USERS:
        return AccessDenied(
            f"The identity {identity.name!r} is bound to certain users; stopping all writing concerns all of them",
            "Ask an identity without bounds to do it.",
        )
    return None


def _allowed(prefixes: tuple[str, ...], topic: str) -> bool:
    return any(topic.startswith(prefix) for prefix in prefixes)


def _covered(prefix: str) -> list[Topic]:
    return [topic for name, topic in topics().items() if name.startswith(prefix)]


def _denied(identity: Identity, what: str) -> AccessDenied:
    return AccessDenied(f"The role {identity.role_name!r} of identity {identity.name!r} may not {what}")
