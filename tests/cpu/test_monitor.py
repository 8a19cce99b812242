"""The monitor of checked mode: what ships is its source, and agrees with the code that calls it."""

from __future__ import annotations

import re

from monitor_text import SOURCE, monitor_text

from custom_dispatch.cpu.checked.finding import REPORT_BYTES, Finding, texts
from custom_dispatch.cpu.checked.monitor import TEXT
from custom_dispatch.cpu.checked.sites import Site
from custom_dispatch.cpu.threads import block_memory

HEADERS = "".join(path.read_text() for path in sorted(SOURCE.parent.glob("*.cuh")))


def enumerated(name: str) -> dict[str, int]:
    """An enumeration of the source."""
    listed = re.search(rf"enum {name} : u32 {{(.*?)}}", HEADERS, re.DOTALL)
    assert listed
    items = [item.split("=") for item in listed[1].replace("\n", " ").split(",") if item.strip()]
    return {item[0].strip(): int(item[-1]) if item[1:] else i for i, item in enumerate(items)}


def test_what_ships_is_what_its_source_compiles_to() -> None:
    assert TEXT.read_text() == monitor_text(), "run PYTHONPATH=. python tests/cpu/monitor_text.py"


def test_findings_are_numbered_alike() -> None:
    numbers = enumerated("Finding")
    assert list(numbers) == list(texts())
    assert {finding.name: numbers[finding.name] for finding in Finding} == {
        finding.name: finding.value for finding in Finding
    }


def test_every_name_in_a_text_has_a_value() -> None:
    known = set(re.findall(r'check_begins\(name, "(\w+)', HEADERS))
    named = {
        name.rpartition(" ")[2]
        for text in texts().values()
        for name in re.findall(r"{([a-z ]+)}", "".join(text.values()))
    }
    assert named - known == {"offset", "lane"}  # what stands where no other name does


def test_sites_and_threads_are_described_alike() -> None:
    for name in ("Kind", "Space"):
        for member, value in enumerated(name).items():
            assert getattr(Site, member) == value
    for member, value in enumerated("Status").items():
        assert getattr(block_memory, member) == value
    assert f"REPORT_BYTES = {REPORT_BYTES};" in HEADERS
    assert f"DROPPED_SHIFT = {Site.DROPPED_SHIFT};" in HEADERS
