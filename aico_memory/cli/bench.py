"""Benchmarks; each prints the machine, the versions, medians with spread, and ratios taken in one run."""

from __future__ import annotations

from aico_memory.cli.app import group

bench = group("bench", "Measure this machine; results of record stand in docs/BENCHMARKS.md.", "Development")
