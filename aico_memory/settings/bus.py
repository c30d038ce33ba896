"""Settings of the bus section."""

from __future__ import annotations

from pydantic import Field

from aico_memory.settings.section import Section

MIB = 1024 * 1024


class BusSettings(Section):
    """`bus` in config/memory.yaml."""

    host: str = Field("127.0.0.1", description="Address the broker listens on.")
    router_port: int = Field(
        0, ge=0, le=65535, description="Port for publishing and requests; 0: a free one, kept over restarts."
    )
    delivery_port: int = Field(0, ge=0, le=65535, description="Port for live delivery; 0: a free one, kept over restarts.")

    max_bytes: int = Field(MIB, ge=1024, le=16 * MIB, description="Largest envelope in bytes where the topic names no other.")
    reply_bytes: int = Field(4 * MIB, ge=1024, le=16 * MIB, description="Largest answer on a reply topic in bytes.")
    max_frame_bytes: int = Field(
        8 * MIB, ge=64 * 1024, le=64 * MIB, description="Largest frame in bytes that a connection may send; larger ones end it."
    )
    publish_per_second: float = Field(
        500_000, gt=0, le=10_000_000, description="Records a second and identity, where the role names no other."
    )
    publish_burst: float = Field(1_000_000, ge=1, le=10_000_000, description="Records an identity may publish at once.")
    connections_per_identity: int = Field(64, ge=1, le=10_000, description="Connections of one identity at a time.")
    window: int = Field(
        4096, ge=1, le=65536, description="Unacknowledged records a client may have in flight (told in Welcome)."
    )
    drain_frames: int = Field(512, ge=1, le=65536, description="Frames taken from the socket for one journal transaction.")
    drain_bytes: int = Field(4 * MIB, ge=64 * 1024, le=256 * MIB, description="Bytes taken for one journal transaction.")
    batch_bytes: int = Field(512 * 1024, ge=1024, le=16 * MIB, description="Size in bytes at which a delivered batch is cut.")
    range_bytes: int = Field(MIB, ge=1024, le=16 * MIB, description="Bytes of one answer to a range request.")
    range_records: int = Field(4096, ge=1, le=65536, description="Records of one answer to a range request.")
    router_high_water: int = Field(4096, ge=16, le=1_000_000, description="Frames queued for or from one connection.")
    delivery_high_water: int = Field(
        2048, ge=16, le=1_000_000, description="Batches queued for one subscriber; beyond it falls back to replay."
    )
    handshake_ms: int = Field(5000, ge=100, le=60_000, description="Time for a handshake in milliseconds.")
    backlog: int = Field(512, ge=16, le=65536, description="Connections that may wait to be accepted.")
    ban_seconds: float = Field(
        30, ge=0.1, le=86_400, description="How long an identity that attacks the delivery socket stays out."
    )
    heads_seconds: float = Field(0.25, ge=0.02, le=10, description="Seconds between head beacons while heads move.")
    heads_idle_seconds: float = Field(1.0, ge=0.02, le=60, description="Seconds between head beacons at rest.")
    quarantine_per_second: float = Field(5, ge=0, le=1000, description="Refused frames kept as dead letters a second.")
    quarantine_bytes: int = Field(4096, ge=0, le=MIB, description="Bytes of a refused frame that are kept.")
    audit_per_second: float = Field(5, ge=0, le=1000, description="Access refusals audited a second; all are counted.")
    drain_seconds: float = Field(5, ge=0, le=60, description="Time for draining at shutdown in seconds.")

    segment_first_bytes: int = Field(
        8 * MIB, ge=MIB, le=1024 * MIB, description="Zero-filled size of the first journal segment."
    )
    segment_bytes: int = Field(64 * MIB, ge=MIB, le=4096 * MIB, description="Size in bytes up to which segments grow.")
    ahead_bytes: int = Field(
        8 * MIB, ge=256 * 1024, le=256 * MIB, description="Size of the log that makes small drains durable with one sync."
    )
    ahead_drain_bytes: int = Field(
        64 * 1024, ge=0, le=16 * MIB, description="Drains up to this size go into the log ahead; larger ones into the segment."
    )
    segment_hours: float = Field(24, gt=0, le=24 * 365, description="Age at which a segment is closed.")
    dedup_hours: float = Field(26, ge=24, le=24 * 365, description="Time for which an event id published twice is recognised.")
    retention_hours: float = Field(24 * 14, ge=1, le=24 * 3650, description="Age of records where the topic names no other.")
    retention_bytes: int = Field(2048 * MIB, ge=MIB, description="Bytes kept of one topic.")
    retention_seconds: float = Field(30, ge=0.01, le=3600, description="Seconds between looks at what has expired.")
    retention_hard_hours: float = Field(
        24 * 60,
        ge=1,
        le=24 * 3650,
        description="Age beyond which no slow consumer holds records any more; counted and alarmed.",
    )
    retention_hard_bytes: int = Field(
        16 * 1024 * MIB,
        ge=MIB,
        description="Size of the journal beyond which no slow consumer holds records; counted and alarmed.",
    )
    journal_max_bytes: int = Field(
        32 * 1024 * MIB, ge=MIB, description="Size of the journal at which durable publishes are refused."
    )
    min_free_bytes: int = Field(64 * MIB, ge=0, description="Free disk space below which durable publishes are refused.")
