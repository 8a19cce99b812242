"""Devices, loading and calling: the IREE runtime as users see it."""

from custom_dispatch.runtime.device import Device, devices
from custom_dispatch.runtime.device_array import DeviceArray
from custom_dispatch.runtime.device_choice import why_not
from custom_dispatch.runtime.function import Function
from custom_dispatch.runtime.program import Program, load
from custom_dispatch.runtime.submission import Submission

__all__ = [
    "Device",
    "DeviceArray",
    "Function",
    "Program",
    "Submission",
    "devices",
    "load",
    "why_not",
]
