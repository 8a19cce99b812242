"""The CPU corpus compiled for 64-bit Arm on any machine, and run there or under an emulator.

    python -m benchmarks.cpu.aarch64 build DIRECTORY
    python -m benchmarks cpu.aarch64 run DIRECTORY [--save]

`build` compiles every kernel of `tests/cpu/corpus` for `cpu:aarch64`, and two library kernels as a
user does; it also runs the corpus on this machine's CPU. `run` needs an aarch64 Python with
iree-base-runtime and numpy, and this checkout. It checks every result against numpy's, and counts
those that are bit-equal with the other machine's.

Without such a machine, `qemu-aarch64-static -L ROOT ROOT/usr/bin/python3.11` is such a Python.
`debootstrap --foreign --arch=arm64 --variant=minbase --include=python3 bookworm ROOT` fetches a
Debian (`dpkg-deb -x` unpacks the packages of Python that it leaves in ROOT/var/cache/apt), and
`pip download --platform manylinux_2_28_aarch64 --only-binary=:all:` the wheels.
"""

from __future__ import annotations

import json
import os
import pickle
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lib.gpu_command import parser

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
HERE = "x86-64-v3"
DRIVERS = ("local-sync", "local-task")


def build(directory: Path, only: tuple[str, ...] = ()) -> int:
    """Compile everything, or some files of the corpus; keep it with inputs and expected outputs."""
    sys.path.insert(0, str(ROOT / "tests" / "cpu"))
    import corpus_cases
    from cpu_harness import compile_cuda, compile_model, model_text, run_launches
    from test_corpus import include_paths

    import custom_dispatch as cd
    from cuda_kernels.norms import rms_norm_f32
    from cuda_kernels.simple_mul import simple_mul

    directory.mkdir(parents=True, exist_ok=True)
    kept: list[dict[str, Any]] = []
    for name in only or corpus_cases.FILES:
        source = (corpus_cases.CORPUS / f"{name}.cu").read_text()
        ptx = compile_cuda(source, "sm_80", include_paths())
        cases = corpus_cases.FILES[name]()
        launches = [case.launch for case in cases]
        vmfb = compile_model(model_text(ptx, launches, "aarch64"))
        (directory / f"{name}.vmfb").write_bytes(vmfb)
        here = run_launches(compile_model(model_text(ptx, launches, HERE)), launches, "local-sync")
        for index, (case, results) in enumerate(zip(cases, here, strict=True)):
            launch = case.launch
            entry = {"file": name, "index": index, "entry": launch.entry, "arrays": launch.arrays}
            entry |= {"outputs": launch.outputs, "want": case.want, "here": results}
            kept.append(entry | {"rtol": case.rtol, "atol": case.atol})
    (directory / "cases.pickle").write_bytes(pickle.dumps(kept))
    library = cd.compile(None, [simple_mul, rms_norm_f32], ["cpu:aarch64"])
    library.save(directory / "library.vmfb")
    print(f"{len(kept)} kernels of the corpus, {len(library.kernels)} of the library")
    return 0


def run(directory: Path, save: Path | None) -> int:
    """Run everything and compare; 1 if a result is wrong."""
    import iree.runtime as rt

    rows: list[dict[str, Any]] = []
    cases = pickle.loads((directory / "cases.pickle").read_bytes())  # noqa: S301 - our own
    for driver in DRIVERS:
        config = rt.Config(driver)
        modules: dict[str, Any] = {}
        for case in cases:
            name = case["file"]
            if name not in modules:
                content = (directory / f"{name}.vmfb").read_bytes()
                module = rt.VmModule.copy_buffer(config.vm_instance, content)
                context = rt.SystemContext(config=config)
                context.add_vm_module(module)
                modules[name] = context.modules[module.name]
            arrays = [rt.asdevicearray(config.device, array) for array in case["arrays"]]
            answer = modules[name][f"f{case['index']}"](*arrays)
            listed = answer if isinstance(answer, (list, tuple)) else [answer]
            got = [
                result.to_host().view(case["arrays"][i].dtype)
                for i, result in zip(case["outputs"], listed, strict=True)
            ]
            pairs = list(zip(got, case["want"], strict=True))
            right = all(_close(found, want, case["rtol"], case["atol"]) for found, want in pairs)
            same = all(
                found.tobytes() == here.tobytes()
                for found, here in zip(got, case["here"], strict=True)
            )
            row = {"kernel": case["entry"], "driver": driver, "right": right, "bit_equal": same}
            rows.append(row)
            if not (right and same):
                print(f"{name} {case['entry']} {driver}: {'differs' if right else 'WRONG'}")
    rows += _library(directory)
    return _finish(rows, save)


def _close(found: np.ndarray, want: np.ndarray, rtol: float, atol: float) -> bool:
    if not (rtol or atol):
        return np.array_equal(found, want, equal_nan=found.dtype.kind == "f")
    return np.allclose(found.astype(np.float64), want, rtol, atol, equal_nan=True)


def _library(directory: Path) -> list[dict[str, Any]]:
    """The library kernels, loaded and called as users do."""
    import custom_dispatch as cd

    program = cd.load(directory / "library.vmfb", "cpu")
    random = np.random.default_rng(0)
    a, b = random.standard_normal((2, 1000), np.float32)
    product = np.asarray(program.simple_mul(a, b))
    x, weight = random.standard_normal((7, 384), np.float32), a[:384]
    norm = np.asarray(program.rms_norm_f32(x, weight, 1e-5))
    want = x / np.sqrt(np.mean(x.astype(np.float64) ** 2, 1, keepdims=True) + 1e-5) * weight
    rights = {
        "simple_mul": np.array_equal(product, a * b),
        "rms_norm_f32": np.allclose(norm, want, 1e-5, 1e-5),
    }
    return [
        {"kernel": f"cd.load: {name}", "driver": "local-task", "right": bool(right)}
        for name, right in rights.items()
    ]


def _finish(rows: list[dict[str, Any]], save: Path | None) -> int:
    right = sum(row["right"] for row in rows)
    equal = sum(row.get("bit_equal", False) for row in rows)
    compared = sum("bit_equal" in row for row in rows)
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    about = {
        "benchmark": "cpu_aarch64",
        "command": "python -m benchmarks cpu.aarch64 run DIRECTORY",
        "date": time.strftime("%Y-%m-%d"),
        "machine": platform.machine(),
        # Linux on such a machine names the implementer; user-mode emulation shows its host's file.
        "emulated": "CPU implementer" not in cpuinfo,
        "emulator": os.environ.get("EMULATOR", ""),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("iree-base-runtime", "numpy")},
    }
    notes = [
        f"{right} of {len(rows)} right; {equal} of {compared} bit-equal with cpu:{HERE} on x86_64",
        "flash_attention: mul.f32 and sub.f32 without .rn may be fused (PTX ISA 9.0, section "
        f"9.7.3); code for {HERE} does, that for aarch64 and for a generic x86-64 does not",
        "matmul_split_k: on local-task the order of its atomic additions is left open",
    ]
    print(json.dumps(about), *notes, sep="\n")
    if save:
        content = {"about": about, "rows": rows, "notes": notes}
        save.write_text(json.dumps(content, indent=1) + "\n")
    return 0 if right == len(rows) else 1


def main() -> int:
    """Build or run."""
    given = parser(__doc__).parse_args()
    return build(given.directory) if given.what == "build" else run(given.directory, given.save)
