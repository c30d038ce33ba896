"""Who gets in: ZAP 1.0 inside the broker's own loop.

Without a handler libzmq lets everybody in; with one in a thread of its own,
an exception there would end it unseen. So the broker answers itself, the
domain is enforced, and whatever goes wrong is a refusal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from types import MappingProxyType

import zmq
from zmq.utils import z85

from aico_memory.bus.access import AccessRules, Identity
from aico_memory.errors import AicoMemoryError, StoreCorrupt
from aico_memory.log import get_logger
from aico_memory.paths import Home
from aico_memory.vault.curve_keys import AuthorizedIdentity, authorized_path, list_identities

ENDPOINT = "inproc://zeromq.zap.01"
DOMAIN = b"aico-memory"
_RECHECK_SECONDS = 0.25
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one handshake."""

    status: bytes
    text: bytes
    user_id: bytes = b""


def user_id_of(name: str, public: bytes) -> str:
    """The User-Id stamped on a connection: identity and digest of its key (Z85), so that a new key is a new peer."""
    return f"{name}.{hashlib.blake2b(public, digest_size=8).hexdigest()}"


def judge(frames: list[bytes], admitted: Mapping[bytes, str], banned: Callable[[str], bool]) -> Verdict:
    """Decide one ZAP request (frames from the version on); `admitted` maps a Z85 key to a User-Id."""
    if len(frames) != 7 or frames[0] != b"1.0":
        return Verdict(b"500", b"Not a ZAP 1.0 request")
    _, _, domain, _, _, mechanism, credential = frames
    if domain != DOMAIN or mechanism != b"CURVE" or len(credential) != 32:
        return Verdict(b"400", b"Only CURVE is accepted")
    user_id = admitted.get(z85.encode(credential))
    if user_id is None:
        return Verdict(b"400", b"This key is not authorised")
    if banned(user_id):
        return Verdict(b"400", b"This identity is banned for a while")
    return Verdict(b"200", b"OK", user_id.encode())


class AuthorizedKeys:
    """The list of who is let in, read again when its file changes.

    A list that cannot be read (damaged, or taken away) lets nobody new in, and whoever was on the last
    one stays: a slip of an editor must not cut every process off. `unreadable` says so until it is mended.

    Raises StoreCorrupt where the first one cannot be read.
    """

    def __init__(self, home: Home, rules: AccessRules) -> None:
        self._home = home
        self._rules = rules
        self._path = authorized_path(home)
        self._checked = 0.0
        self.unreadable = ""
        self.by_key: Mapping[bytes, str] = MappingProxyType({})
        self.by_user_id: Mapping[str, Identity] = MappingProxyType({})
        self._mark = self._stat()
        self._replace(list_identities(home))

    def refresh(self, force: bool = False) -> frozenset[str] | None:
        """Read the list if its file changed; the User-Ids that lost or changed their rights, None where nothing changed."""
        now = monotonic()
        if not force and now - self._checked < _RECHECK_SECONDS:
            return None
        self._checked = now
        mark = self._stat()
        if mark == self._mark:
            return None
        self._mark = mark
        try:
            if mark is None:
                raise StoreCorrupt(f"{self._path} is gone", "Restore it from a backup.")
            listed = list_identities(self._home)
        except AicoMemoryError as error:
            _log.error("authorised keys unreadable", error=str(error))
            self.unreadable = str(error)
            return None
        self.unreadable = ""
        return self._replace(listed)

    def identity(self, user_id: str) -> Identity | None:
        """The identity behind a User-Id, as it stands now."""
        return self.by_user_id.get(user_id)

    def _replace(self, listed: list[AuthorizedIdentity]) -> frozenset[str]:
        by_key: dict[bytes, str] = {}
        by_user_id: dict[str, Identity] = {}
        for entry in listed:
            role = self._rules.roles.get(entry.role)
            if entry.revoked_at is not None:
                continue
            if role is None:
                _log.warning("identity names an unknown role", identity=entry.name, role=entry.role)
                continue
            user_id = user_id_of(entry.name, entry.public.encode())
            by_key[entry.public.encode()] = user_id
            by_user_id[user_id] = Identity(entry.name, user_id, entry.role, role, entry.scopes)
        before = self.by_user_id
        self.by_key, self.by_user_id = MappingProxyType(by_key), MappingProxyType(by_user_id)
        return frozenset(user_id for user_id, identity in before.items() if by_user_id.get(user_id) != identity)

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size


class ZapHandler:
    """Answers handshakes; polled by the broker's loop."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        keys: AuthorizedKeys,
        banned: Callable[[str], bool],
        before: Callable[[], None],
    ) -> None:
        self.socket = context.socket(zmq.REP)
        self.socket.linger = 0
        self.socket.bind(ENDPOINT)
        self._keys = keys
        self._banned = banned
        self._before = before
        self.admitted = 0
        self.refused = 0

    def answer_waiting(self) -> None:
        """Answer every request that waits, each after `before`; a failure inside is a refusal."""
        while True:
            try:
                frames = self.socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            try:
                self._before()
                verdict = judge(frames, self._keys.by_key, self._banned)
            except Exception:
                _log.exception("handshake not decided")
                verdict = Verdict(b"500", b"The bus could not decide")
            if verdict.status == b"200":
                self.admitted += 1
            else:
                self.refused += 1
                _log.warning("handshake refused", reason=verdict.text.decode())
            request_id = frames[1] if len(frames) > 1 else b""
            self.socket.send_multipart([b"1.0", request_id, verdict.status, verdict.text, verdict.user_id, b""])

    def close(self) -> None:
        self.socket.close()
