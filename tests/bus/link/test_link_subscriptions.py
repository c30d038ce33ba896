"""Subscriptions of one link share one socket: what one gives up is not taken from the others."""

from __future__ import annotations

from collections import Counter

from aico_memory.bus.link_subscriptions import Wanted
from aico_memory.bus.link_traffic import Traffic, frame
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import HEADS_TOPIC, Kind
from aico_memory.settings.link import LinkSettings

MESSAGES = "memory/working/message/v1/"
FEEDBACK = "memory/behavioral/feedback/v1/"


def granted(traffic: Traffic, *topics: str) -> Wanted:
    """A consumer's subscription that the broker has allowed."""
    wanted = traffic.book.add(topics, [HEADS_TOPIC], consumer=True)
    traffic.tick(1.0)
    traffic.router_frame(frame(Kind.GRANTED, bus_pb2.Granted(request=wanted.request)))
    return wanted


def standing(traffic: Traffic) -> Counter[bytes]:
    """What the socket is subscribed to by now, and how often; it counts as libzmq does."""
    found: Counter[bytes] = Counter()
    for subscribe, prefix in traffic.filters:
        found[prefix] += 1 if subscribe else -1
    return found


def test_who_goes_while_waiting_for_its_turn_takes_the_heads_from_nobody() -> None:
    traffic = Traffic(bytes(16), LinkSettings(subscription_chunk=2), lambda records, size: None)
    stays = granted(traffic, MESSAGES)
    traffic.delivery_frame(stays.nonce)
    on_its_way = granted(traffic, FEEDBACK, MESSAGES)
    waits = granted(traffic, FEEDBACK)
    traffic.unwant(waits)
    assert standing(traffic)[HEADS_TOPIC] == 1
    # Of this one only the first chunk was sent, of which the heads are no part, and the topic that tells when it stands.
    nonce = on_its_way.nonce
    traffic.unwant(on_its_way)
    assert +standing(traffic) == Counter([MESSAGES.encode(), HEADS_TOPIC])
    assert nonce and min(standing(traffic).values()) == 0
