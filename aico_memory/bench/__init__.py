"""Benchmarks: each prints the machine, the versions, medians with spread, and ratios taken in one run."""
