"""Settings of the link section: how a process speaks to the bus."""

from __future__ import annotations

from pydantic import Field

from aico_memory.settings.section import Section


class LinkSettings(Section):
    """`link` in config/memory.yaml."""

    window_records: int = Field(
        default=4096, ge=1, le=16384, description="Publishes on their way (queued or unacknowledged) before publish() waits"
    )
    window_bytes: int = Field(
        default=33_554_432, ge=65_536, le=1_073_741_824, description="Bytes on their way before publish() waits"
    )
    frame_records: int = Field(default=256, ge=1, le=4096, description="Most records put into one frame")
    frame_bytes: int = Field(
        default=262_144, ge=4096, le=16_777_216, description="Most bytes put into one frame, one record aside"
    )
    publish_seconds: float = Field(
        default=30.0, gt=0, le=3600, description="Seconds publish() waits for room in the window before DeadlineExceeded"
    )
    connect_seconds: float = Field(
        default=1.5,
        gt=0,
        le=60,
        description="Seconds in which the first connection must stand, else the error that says why not",
    )
    handshake_seconds: float = Field(default=1.0, gt=0, le=30, description="Seconds for the security handshake of one attempt")
    retry_seconds_first: float = Field(default=0.05, gt=0, le=10, description="Pause before the first new attempt to connect")
    retry_seconds_most: float = Field(
        default=1.0, gt=0, le=60, description="Longest pause between attempts (it doubles up to here)"
    )
    ping_seconds: float = Field(default=1.0, gt=0, le=60, description="Silence after which the link pings the broker")
    liveness_seconds: float = Field(
        default=5.0, gt=0, le=300, description="Silence (pings unanswered) after which the link connects anew"
    )
    stall_seconds: float = Field(
        default=5.0,
        gt=0,
        le=300,
        description="Seconds without progress after which an open question to the broker is asked again",
    )
    repeat_seconds: float = Field(
        default=2.0, gt=0, le=600, description="A request that nobody has answered is sent again after this, then twice as late"
    )
    request_seconds: float = Field(default=5.0, gt=0, le=3600, description="Default deadline of a request")
    command_seconds: float = Field(
        default=15.0, gt=0, le=3600, description="Default deadline of a command that changes something and is answered"
    )
    close_seconds: float = Field(default=2.0, ge=0, le=60, description="Longest time close() waits for acknowledgements")
    subscription_chunk: int = Field(
        default=64,
        ge=1,
        le=500,
        description="Topics subscribed between two handshakes (the socket drops silently beyond 1,000)",
    )
    consumer_records: int = Field(
        default=8192, ge=16, le=1_000_000, description="Records a consumer holds before it falls back to replay"
    )
    consumer_bytes: int = Field(
        default=33_554_432, ge=65_536, le=1_073_741_824, description="Bytes a consumer holds before it falls back to replay"
    )
    range_records: int = Field(default=2048, ge=1, le=65_536, description="Most records asked for in one range of a replay")
    range_bytes: int = Field(
        default=4_194_304, ge=4096, le=67_108_864, description="Most bytes asked for in one range of a replay"
    )
    spool_after_seconds: float = Field(
        default=2.0, gt=0, le=600, description="Seconds without acknowledgement after which a client with a spool writes to it"
    )
    spool_bytes: int = Field(
        default=268_435_456, ge=65_536, le=1_099_511_627_776, description="Largest size of a client's spool on disk"
    )
