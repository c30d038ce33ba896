"""Settings of the runtime section."""

from __future__ import annotations

from pydantic import Field

from aico_memory.settings.section import Section


class RuntimeSettings(Section):
    """`runtime` in config/memory.yaml: what every worker and the supervisor share."""

    log_level: str = Field("info", pattern="^(debug|info|warning|error)$", description="Lowest level that is logged.")
    batch_records: int = Field(256, ge=1, le=4096, description="Most records applied in one transaction.")
    max_attempts: int = Field(5, ge=1, le=100, description="Attempts to apply a record before it becomes a dead letter.")
    retry_first_ms: int = Field(50, ge=1, le=60_000, description="Wait before the second attempt; doubles with each, in ms.")
    retry_limit_ms: int = Field(2_000, ge=1, le=600_000, description="Longest wait between two attempts, in ms.")
    outbox_records: int = Field(256, ge=1, le=4096, description="Most outgoing records published at a time.")
    outbox_retry_ms: int = Field(500, ge=10, le=60_000, description="Wait before the outbox tries again, in ms.")
    linger_ms: int = Field(
        20, ge=0, le=1000, description="How long records that no other worker waits for are gathered before they go out, in ms."
    )
    publish_timeout_seconds: float = Field(10.0, gt=0, le=600, description="Wait for an acknowledgement of the bus, in s.")
    idle_ms: int = Field(100, ge=5, le=10_000, description="How often timers are looked at while nothing arrives, in ms.")
    report_ms: int = Field(20, ge=1, le=10_000, description="Least time between two reports of progress to the broker, in ms.")
    heartbeat_seconds: float = Field(1.0, gt=0, le=60, description="Time between two heartbeats, in s.")
    switch_ms: float = Field(
        0.5, ge=0.05, le=100, description="How long a thread of a worker computes while another waits for its turn, in ms."
    )
    request_threads: int = Field(4, ge=1, le=64, description="Threads that answer requests in a worker.")
    context_request_threads: int = Field(8, ge=1, le=64, description="Threads that answer requests in the context worker.")
    request_queue: int = Field(1024, ge=1, le=100_000, description="Requests that may wait for a thread; more are refused.")
    drain_seconds: float = Field(5.0, ge=0, le=120, description="Longest time a stopping worker empties its outbox, in s.")
    start_timeout_seconds: float = Field(120.0, gt=0, le=3600, description="`up` gives up after this, in s.")
    stop_timeout_seconds: float = Field(15.0, gt=0, le=600, description="A process still there after this is killed, in s.")
    restart_first_ms: int = Field(100, ge=0, le=60_000, description="Wait before a dead process starts again; doubles, in ms.")
    restart_limit_ms: int = Field(2_000, ge=0, le=600_000, description="Longest wait between two starts of a process, in ms.")
    slow_seconds: float = Field(
        15.0, gt=0, le=86_400, description="A worker that applies records for longer is an alarm, in s."
    )
    stuck_seconds: float = Field(
        120.0, gt=0, le=86_400, description="A worker that applies one record for longer is ended and started again, in s."
    )
    stuck_record_seconds: float = Field(
        4.0, ge=0, le=3600, description="So much longer for each further record of a batch, in s."
    )
    crash_loop_count: int = Field(5, ge=1, le=100, description="So many deaths in crash_loop_seconds end a process for good.")
    crash_loop_seconds: float = Field(60.0, gt=0, le=3600, description="Time in which deaths count towards a crash loop.")
    fork_server: bool = Field(
        True, description="Processes are forks of one that has loaded what they share (Linux); off: an interpreter each."
    )
    fork_seconds: float = Field(30.0, gt=0, le=600, description="A fork server silent for so long is given up, in s.")
    fork_idle_seconds: float = Field(
        30.0,
        ge=0,
        le=86_400,
        description="A fork server that nobody asked for so long ends and gives its memory back, in s; the next process that "
        "dies starts another; 0: it stays.",
    )
    log_bytes: int = Field(10_000_000, ge=10_000, le=1_000_000_000, description="Size at which a log file is rotated.")
    log_files: int = Field(3, ge=1, le=100, description="Rotated files kept of each log.")

    give_way_ms: float = Field(
        20.0,
        ge=0,
        le=1000,
        description="Between two statements, or reports of use, whoever applies them waits so long for a question that is "
        "being answered; 0: never.",
    )

    def threads_of(self, process: str) -> int:
        """Request threads of one worker."""
        return self.context_request_threads if process == "context" else self.request_threads
