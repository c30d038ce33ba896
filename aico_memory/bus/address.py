"""Where the broker of a home is to be found, as it wrote it down when it was bound."""

from __future__ import annotations

import json
from dataclasses import dataclass

from aico_memory.contracts.wire import PROTOCOL
from aico_memory.errors import BusUnavailable, VersionMismatch
from aico_memory.paths import Home


@dataclass(frozen=True, slots=True)
class BusAddress:
    """Endpoints of the broker and the public key (Z85) that proves it is the broker."""

    router: str
    delivery: str
    server_public: str


def read_address(home: Home) -> BusAddress:
    """The broker's address; BusUnavailable where no broker has written one.

    It is read anew before every attempt to connect: a restarted broker may have other ports.
    """
    try:
        content = json.loads(home.bus_address.read_text(encoding="utf-8"))
        address = BusAddress(content["router"], content["delivery"], content["server_public"])
    except FileNotFoundError:
        raise BusUnavailable(f"No bus has been started in {home.root}") from None
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise BusUnavailable(f"{home.bus_address} cannot be read: {error}") from error
    spoken = content.get("protocol", PROTOCOL)
    if spoken != PROTOCOL:
        raise VersionMismatch(f"The bus in {home.root} speaks protocol {spoken}, this side {PROTOCOL}")
    return address
