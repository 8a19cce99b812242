"""All that a module needs besides its kernels in checked mode."""

from __future__ import annotations

from custom_dispatch.cpu.checked.monitor_access import access_function
from custom_dispatch.cpu.checked.monitor_order import order_functions
from custom_dispatch.cpu.checked.monitor_shadow import shadow_functions
from custom_dispatch.cpu.checked.printf import print_function, print_globals
from custom_dispatch.cpu.checked.report import findings_entry, report_function, report_globals
from custom_dispatch.cpu.checked.sites import Sites
from custom_dispatch.cpu.text.c_library import declarations


def monitor(sites: Sites) -> list[str]:
    """The lines of the functions and tables that checks call and read."""
    return [
        *declarations(),
        *sites.globals(),
        *report_globals(),
        *report_function(),
        *order_functions(),
        *shadow_functions(),
        *access_function(),
        *print_globals(),
        *print_function(),
        *findings_entry(),
    ]
