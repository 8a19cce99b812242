"""Benchmarks of the CPU target."""
