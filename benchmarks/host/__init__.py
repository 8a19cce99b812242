"""Benchmarks of what the host does: importing, building, storing, calling."""
