"""Recurrences along time that are linear in their state: Mamba, Mamba 2, gated delta rules."""

from __future__ import annotations

from cuda_kernels.shared.lazily import each_type, from_modules, lazily

_NAMES = {"selective_scan": each_type("selective_scan", "delta_scan")}

__getattr__, __dir__ = lazily(globals(), from_modules(__name__, _NAMES))
