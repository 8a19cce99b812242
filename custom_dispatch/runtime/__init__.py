"""Devices, loading and calling: the IREE runtime as users see it."""

from custom_dispatch.runtime.choice import why_not
from custom_dispatch.runtime.device import Device, devices
from custom_dispatch.runtime.function import Function
from custom_dispatch.runtime.program import Program, load
from custom_dispatch.runtime.report import ProgramReport

__all__ = ["Device", "Function", "Program", "ProgramReport", "devices", "load", "why_not"]
