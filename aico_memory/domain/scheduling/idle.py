"""Whether the machine is idle: processor quiet for a while, and nobody talking in that time."""

from __future__ import annotations

from dataclasses import dataclass

SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class IdleRule:
    """Idle: below `cpu_percent` for `quiet_seconds`, looked at every `sample_seconds`."""

    cpu_percent: float = 20.0
    quiet_seconds: int = 300
    sample_seconds: int = 60


@dataclass(frozen=True, slots=True)
class IdleState:
    """What the samples said; -1 where there was none."""

    sampled_us: int = -1
    quiet_since_us: int = -1
    cpu_percent: float = 0.0


def wants_sample(state: IdleState, rule: IdleRule, now_us: int) -> bool:
    """Whether it is time to look again."""
    return state.sampled_us < 0 or abs(now_us - state.sampled_us) >= rule.sample_seconds * SECOND_US


def observe(state: IdleState, rule: IdleRule, now_us: int, cpu_percent: float) -> IdleState:
    """The state after a sample; quiet counts from the first quiet sample in a row."""
    if cpu_percent >= rule.cpu_percent:
        return IdleState(now_us, -1, cpu_percent)
    unbroken = 0 <= state.quiet_since_us <= now_us
    return IdleState(now_us, state.quiet_since_us if unbroken else now_us, cpu_percent)


def is_idle(state: IdleState, rule: IdleRule, last_message_us: int, now_us: int) -> bool:
    """Quiet for the whole time up to the latest sample, and no message in that time up to now."""
    window = rule.quiet_seconds * SECOND_US
    if state.quiet_since_us < 0 or state.sampled_us - state.quiet_since_us < window:
        return False
    return now_us - last_message_us >= window
