"""The bars of the bus: ratios of medians taken in one run, and figures of our own broker."""

from __future__ import annotations

import math

from aico_memory.bench.bar import Bar
from aico_memory.bench.bus.stage import Figures
from aico_memory.bench.statistics import spread

Samples = dict[tuple[str, str], list[Figures]]

OURS = "AICO Memory"
SINGLE = "1024 B, 1024 in flight"
COALESCED = SINGLE + ", coalesced"
DELIVERED = SINGLE + ", delivered"
STALLED = "1024 B, beside a stalled subscriber"
ALONE = "1024 B, 1 in flight"
PACED = "1024 B, 1000 msg/s"
REQUESTS = "ephemeral, 250/s"
REPLAY = "1024 B, replay"
# Peer (start of its name) -> bars of our single and our coalesced throughput over the peer's.
THROUGHPUT = {
    "Redis Streams, appendfsync always": (2.5, 4.5),
    "Redis Streams, appendfsync everysec": (0.85, 1.6),
    "NATS JetStream": (1.5, 2.6),
}


def bars(samples: Samples) -> list[Bar]:
    """Every bar whose peers were there."""

    def median(contestant: str, load: str, figure: str) -> float:
        found = next(
            (figures for (name, what), figures in samples.items() if name.startswith(contestant) and what == load), None
        )
        return spread([getattr(each, figure) for each in found]).median if found else math.nan

    rate, delivered = "acknowledged_per_second", "delivered_per_second"
    always = "Redis Streams, appendfsync always"
    single, coalesced = median(OURS, SINGLE, rate), median(OURS, COALESCED, rate)
    ceiling = median("raw", DELIVERED, delivered)
    requests = median(OURS, REQUESTS, "deliver_p50_ms") / median("raw", REQUESTS, "deliver_p50_ms")
    found = [
        Bar("single / raw proxy", single / ceiling, 0.75, True),
        Bar("coalesced / raw proxy", coalesced / ceiling, 1.2, True),
        Bar("single to delivery / raw proxy", median(OURS, DELIVERED, delivered) / ceiling, 0.75, True),
    ]
    for peer, (plain, packed) in THROUGHPUT.items():
        theirs = median(peer, SINGLE, rate)
        found += [
            Bar(f"single / {peer}", single / theirs, plain, True),
            Bar(f"coalesced / {peer}", coalesced / theirs, packed, True),
        ]
    beside = median(OURS, STALLED, delivered) / median(OURS, DELIVERED, delivered)
    found += [
        Bar("one in flight / Redis always", median(OURS, ALONE, rate) / median(always, ALONE, rate), 0.6, True),
        Bar(
            "ack p50 at 1,000/s / Redis always",
            median(OURS, PACED, "ack_p50_ms") / median(always, PACED, "ack_p50_ms"),
            2.0,
            False,
        ),
        Bar("ack p99 at 1,000/s, ms", median(OURS, PACED, "ack_p99_ms"), 2.5, False),
        Bar("ephemeral one way p50 / raw proxy", requests, 1.5, False),
        Bar("broker CPU, µs a single message", median(OURS, SINGLE, "cpu_us"), 12.0, False),
        Bar("broker CPU, µs a coalesced message", median(OURS, COALESCED, "cpu_us"), 6.0, False),
        Bar("throughput beside a stalled subscriber", beside, 0.9, True),
        Bar("replay, msg/s", median(OURS, REPLAY, delivered), 100_000, True),
    ]
    return [bar for bar in found if not math.isnan(bar.measured)]
