"""Where the time goes: what is recorded, what it adds up to, and the files that are written.

All but the reading is tested with what was recorded on an H200; the reading, with a CUPTI that says
what the real one said there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy
import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import CallError, DeviceError, OutputError, ToolNotFoundError
from custom_dispatch.format.manifest import KnownSizes, parse_manifest
from custom_dispatch.measure.profile import cupti
from custom_dispatch.measure.profile.floors import Floor, Peaks, floor_of
from custom_dispatch.measure.profile.profiling import Known
from custom_dispatch.measure.profile.recording import Record, Recording
from custom_dispatch.measure.profile.summary import Profile, summarise
from custom_dispatch.measure.profile.writers import html_of, text_of, trace_of
from custom_dispatch.plain_data import as_it_is, read
from custom_dispatch.runtime.driver import DriverState

PEAKS = Peaks(4e12, flops_per_second={"bf16": 1e15}, flops_source="a test")
EVIL = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def recorded() -> Profile:
    content = json.loads(Path(__file__).with_name("profile_h200.json").read_text())
    known = Known(parse_manifest(json.dumps(content["manifest"])), 90, "main")
    return summarise(
        read(Recording, content["recording"], as_it_is),
        "main(tensor<1x1x4096xbf16>)",
        "cuda (NVIDIA H200)",
        content["undisturbed_s"],
        PEAKS,
        known.origin_of,
        partial(known.floor_of, PEAKS),
    )


def _summary(*records: Record, calls: tuple[tuple[int, int], ...] = ((0, 100),)) -> Profile:
    def origin_of(record: Record) -> tuple[str, str]:
        return record.name, "generated" if "dispatch" in record.name else "hand-written"

    recording = Recording(calls, records, "a test")
    return summarise(recording, "f", "cpu", 1e-7, PEAKS, origin_of, lambda *_: "no sizes")


def test_a_call_is_what_ran_and_when_nothing_did() -> None:
    records = [Record("kernel", "a", 10, 30), Record("kernel", "b", 20, 50, stream=1)]
    found = _summary(*records, Record("kernel", "a", 60, 90), Record("kernel", "a", 200, 300))
    times = (found.recorded_s, found.before_s, found.busy_s, found.idle_s, found.after_s)
    assert [round(time * 1e9) for time in times] == [100, 10, 70, 10, 10]
    a, b = found.kernels
    assert (a.name, a.launches, round(a.total_s * 1e9)) == ("a", 2, 50)
    assert (a.share, round(a.idle_before_s * 1e9), a.no_floor) == (50 / 80, 10, "no sizes")
    assert (b.name, round(b.idle_before_s * 1e9)) == ("b", 0)
    assert found.origins == {"hand-written": pytest.approx(80e-9)}


def test_times_are_means_of_the_calls() -> None:
    records = [Record("kernel", "f_dispatch_0", at, at + 10) for at in (0, 1000, 1020)]
    found = _summary(*records, calls=((0, 10), (1000, 1030)))
    times = (found.recorded_s, found.busy_s, found.idle_s)
    assert [round(time * 1e9) for time in times] == [20, 15, 5]
    assert found.kernels[0].mean_s == pytest.approx(10e-9)


def test_hand_written_kernels_of_a_model_stand_beside_their_floors(recorded: Profile) -> None:
    names = {item.name: item for item in recorded.kernels}
    assert {item.origin for item in recorded.kernels} == {"hand-written"}
    first = recorded.kernels[0]
    assert first is names["linear_swiglu_bf16"]
    assert first.symbol.startswith("_ZN12cuda_kernels14gated_few_rows")
    assert first.launches == 2
    assert first.floor is not None
    assert first.floor.bytes == 2 * (4096 + 2 * 14336 * 4096 + 14336)
    assert first.floor.flops == 4 * 14336 * 4096
    assert first.floor.seconds == first.floor.memory_s == first.floor.bytes / 4e12
    assert first.floor_share == pytest.approx(first.floor.seconds / first.mean_s)
    assert 0.9 < first.floor_share < 1.05
    # Three calls of two sizes: the mean of their floors, without the operands that two leave out.
    several = names["linear_bf16_skinny_t16x32_s4_align1"].floor
    assert several is not None
    weights = (2 * 4096 * 4096 + 14336 * 4096) / 3
    assert 2 * weights < several.bytes < 2 * weights * 1.001
    parts = (recorded.before_s, recorded.busy_s, recorded.idle_s, recorded.after_s)
    assert sum(parts) == pytest.approx(recorded.recorded_s)
    assert recorded.busy_s < sum(recorded.origins.values())  # a graph runs some at once


def test_a_floor_is_refused_where_a_call_alone_says_the_sizes() -> None:
    one, two = KnownSizes(1, {"n": 1000}), KnownSizes(2, {"n": 4})
    found = floor_of(simple_mul, [one], 7, PEAKS)
    assert isinstance(found, Floor)
    assert (found.bytes, found.flops, found.arithmetic) == (12000, 0, "f32")
    mean = floor_of(simple_mul, [one, two], 3, PEAKS)
    assert isinstance(mean, Floor)
    assert mean.bytes == (12000 + 2 * 48) / 3
    assert floor_of(simple_mul, [one, two], 4, PEAKS) == "only a call says its sizes"
    assert floor_of(simple_mul, [], 1, PEAKS) == "only a call says its sizes"
    assert floor_of(None, [one], 1, PEAKS) == "the module does not say how it is declared"
    assert "too little memory" in str(floor_of(simple_mul, [one], 1, Peaks()))


def test_the_text_is_a_table_with_shares_and_sources(recorded: Profile) -> None:
    text = text_of(recorded)
    assert re.search(
        r"^linear_swiglu_bf16 +hand-written +1 +\S+ us +3\d\.\d% .* memory$", text, re.M
    )
    assert "at 4 TB/s (a copy of 256 MiB, measured here)" in text
    assert "undisturbed, one takes 186.5 us" in text
    assert str(recorded) == text


def test_a_trace_has_every_event_where_it_was(recorded: Profile) -> None:
    trace = json.loads(trace_of(recorded))
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    named = {event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
    row = recorded.rows[recorded.kernels[0].symbol]
    assert row == 0
    (stream, *_) = {
        item.stream
        for item in recorded.recording.records
        if item.name == recorded.kernels[0].symbol
    }
    assert {"host", "calls", "device 0", f"stream {stream}"} <= named
    assert len(events) == 2 + sum(item.launches for item in recorded.kernels)
    for event in events:
        assert event.keys() == {"name", "ph", "pid", "tid", "ts", "dur", "args"}
        assert event["dur"] > 0
    kernel = next(event for event in events if event["name"] == "linear_swiglu_bf16")
    assert kernel["args"]["grid"] == [896, 1, 1]
    assert kernel["args"]["in_graph"] is True
    assert (kernel["pid"], kernel["tid"]) == (1, stream)


def test_a_page_needs_no_network_and_no_name_can_harm_it(recorded: Profile) -> None:
    template = Path(cupti.__file__).with_name("page.html").read_text()
    links = set(re.findall(r"https?://[^\"'\s]+", template))
    assert links <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"innerHTML|document\.write|\beval\b|<link|\bsrc=", template)
    evil = _summary(Record("kernel", EVIL, 1, 9), Record("kernel", "\u2028{{profile}}", 10, 11))
    for found in (evil, recorded):
        page = html_of(found).decode()
        assert page.count("</script") == template.count("</script")
        assert EVIL not in page
        (text,) = re.findall(
            r'<script type="application/json" id="data">(.*?)</script>', page, re.S
        )
        data = json.loads(text)
        assert [item["name"] for item in data["kernels"]] == [item.name for item in found.kernels]
        assert len(data["spans"]) == data["all_spans"] == len(found.recording.records)
        assert "NaN" not in text


def test_a_file_that_cannot_be_written_leaves_nothing(recorded: Profile, tmp_path: Path) -> None:
    recorded.save_html(tmp_path / "p.html")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be a directory"):
        recorded.save_trace(tmp_path / "file" / "t.json")
    assert {path.name for path in tmp_path.iterdir()} == {"p.html", "file"}


# -- CUPTI


class _CuptiError(Exception):
    pass


class _Cupti(ModuleType):
    """What `cupti.cupti` does with the calls of this package, as it was seen on an H200."""

    cuptiError = _CuptiError  # noqa: N815 - its name

    def __init__(self) -> None:
        super().__init__("cupti.cupti")
        self.ActivityKind = _Kinds()
        self.enabled: list[int] = []
        self.subscribers = 0
        self.records: list[Any] = []

    def get_timestamp(self) -> int:
        return 1

    def subscribe(self, *_: object) -> int:
        if self.subscribers:
            raise _CuptiError("ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)")
        self.subscribers += 1
        return 7

    def unsubscribe(self, subscriber: int) -> None:
        assert subscriber == 7
        self.subscribers -= 1

    def activity_register_callbacks(self, asked: Any, done: Any) -> None:
        assert asked() == (8 << 20, 0)
        self.done = done

    def activity_enable(self, kind: int) -> None:
        self.enabled.append(kind)

    def activity_disable(self, kind: int) -> None:
        self.enabled.remove(kind)

    def activity_flush_all(self, flag: int) -> None:
        self.done(self.records)


class _Kinds(dict[str, int]):
    CONCURRENT_KERNEL, MEMSET = 10, 2

    def __init__(self) -> None:
        super().__init__(CONCURRENT_KERNEL=10, MEMCPY=1, MEMCPY2=22, MEMSET=2)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Cupti]:
    found = _Cupti()
    monkeypatch.setattr(cupti, "version", lambda _: "13.0.1")
    monkeypatch.setattr(cupti, "driver_state", lambda: DriverState((), (13, 0), ""))
    monkeypatch.setattr(cupti.importlib, "import_module", lambda _: found)
    yield found
    assert (found.enabled, found.subscribers) == ([], 0)


def test_records_of_cupti_are_kernels_copies_and_fills(library: _Cupti) -> None:
    common = {"start": 5, "end": 9, "device_id": 1, "stream_id": 13, "graph_node_id": 4}
    sizes = {f"{what}_{axis}": 2 for what in ("grid", "block") for axis in "xyz"}
    library.records = [
        SimpleNamespace(kind=10, name="add_k", **common, **sizes),
        SimpleNamespace(kind=1, bytes=64, src_kind=1, dst_kind=3, **common),
        SimpleNamespace(kind=2, bytes=32, **common),
        SimpleNamespace(kind=99),  # of a kind that another asked for
    ]
    with cupti.Cupti().recording() as records:
        assert len(library.enabled) == 4
    kernel, copy, fill = records
    assert kernel == Record("kernel", "add_k", 5, 9, 1, 13, (2, 2, 2), (2, 2, 2), 0, True)
    assert (copy.name, copy.bytes, fill.kind) == ("copy pageable host to device", 64, "fill")


def test_an_error_in_a_call_ends_the_recording(library: _Cupti) -> None:
    with pytest.raises(CallError, match="wrong"), cupti.Cupti().recording():
        raise CallError("wrong")
    with cupti.Cupti().recording() as records:
        pass
    assert records == []


def test_who_has_cupti_already_is_not_disturbed(library: _Cupti) -> None:
    library.subscribers = 1
    with pytest.raises(DeviceError) as error, cupti.Cupti().recording():
        pass
    assert str(error.value) == (
        "CUPTI does not record: something else in this process uses it.\n"
        "  expected: no ncu, nsys or compute-sanitizer around the program, and no profiler of "
        "PyTorch's in it: that keeps CUPTI when it has ended\n"
        "  next step: profile in a new process, without them; CUPTI says:\n"
        "ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)"
    )
    library.subscribers = 0
    with (
        cupti.Cupti().recording(),
        pytest.raises(DeviceError, match="this package records already"),
    ):
        cupti.Cupti().recording().__enter__()


def test_cupti_that_is_missing_or_of_another_cuda_is_a_sentence(
    library: _Cupti, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cupti, "version", lambda _: "12.8.0")
    with pytest.raises(ToolNotFoundError) as error:
        cupti.Cupti()
    assert str(error.value) == (
        "cupti-python 12.8.0 does not fit the driver, which is of CUDA 13.\n"
        "  expected: cupti-python 13\n"
        '  next step: run `pip install "cupti-python==13.*"`.'
    )
    monkeypatch.undo()
    monkeypatch.setattr(cupti, "PACKAGE", "no-such-cupti")
    with pytest.raises(ToolNotFoundError, match=r"next step: pip install -e '\.\[profile\]'"):
        cupti.Cupti()


# -- the CPU


def test_a_program_on_the_cpu_is_profiled_by_irees_tools() -> None:
    model = """
    func.func private @simple_mul(tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    func.func @main(%a: tensor<64xbf16>, %b: f32) -> tensor<64xf32> {
      %e = tensor.empty() : tensor<64xf32>
      %0 = arith.extf %a : tensor<64xbf16> to tensor<64xf32>
      %1 = linalg.fill ins(%b : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
      %2 = call @simple_mul(%0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      return %2 : tensor<64xf32>
    }
    """
    program = cd.load(cd.compile(model, [simple_mul], ["cpu"]), "cpu")
    array = numpy.ones(64, "float32").astype(ml_dtypes.bfloat16)
    found = program.profile(array, 1.5, calls=3)
    kernels = {item.name: item for item in found.kernels}
    ours = kernels.pop("simple_mul")
    assert (ours.origin, ours.launches, found.calls) == ("hand-written", 3, 3)
    assert ours.floor is not None
    assert ours.floor.bytes == 3 * 256
    assert {item.origin for item in kernels.values()} == {"generated"}
    with pytest.raises(CallError, match="has size 5 in dimension 0"):
        program.profile(array[:5], 1.5)
    with pytest.raises(CallError, match="has no function `no`"):
        program.profile(array, 1.5, function="no")
    with pytest.raises(CallError) as error:
        program.profile(array, 1.5, calls=0)
    assert str(error.value) == (
        "0 calls are to be recorded.\n"
        "  expected: a whole number from 1 to 10000\n"
        "  next step: give calls=20, on the command line --calls 20."
    )
