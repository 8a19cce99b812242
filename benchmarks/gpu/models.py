"""Whole models with kernels put into them, beside the same models by IREE alone and by PyTorch.

With a GPU, `python -m benchmarks gpu.models both DIRECTORY` builds and runs; `--model NAME` takes
one. Two machines do it by halves: `build DIRECTORY` on any (no GPU), then where PyTorch and
transformers are

    python -m benchmarks gpu.models run DIRECTORY [--device cuda|cpu] [--save FILE]

- `minilm`, `minilm-onnx`: all-MiniLM-L6-v2 from PyTorch and from ONNX (`cases/minilm.py`). Its
  weights, `minilm.irpa`, are carried from one machine to the other.
- `llama`, `llama-jax`, `llama-jax-any-length`: a decoder layer of Llama 3 8B's shape from PyTorch,
  and from JAX with kernels by pattern and by name (`cases/llama.py`). Its weights are made anew.
- `llama-decode-1`, `llama-decode-16`: the layer for one new position of each of 1 or 16 sequences,
  with a cache of 4096 positions that is updated in place.
- `qwen3-step-4-layers-1`, `qwen3-step-28-layers-16`: a step of a whole decoder for 1 or 16
  sequences with a cache of 2048, logits included (`cases/decoder_steps.py`).
- `qwen3`, `llama-1b` and so on: whole models of transformers with a mask, at sizes that nothing was
  tuned for (`cases/whole_models.py`). `--zoo` takes these alone.
- `gemma2-epilogues` and so on: the same with functions in the products for what follows these.
- `...-without-products`: with the other kernels, and the matrix products those of IREE.

Correct first: embeddings have a cosine of at least 0.9999 to those of PyTorch in f32; other models'
relative error (L2) to PyTorch in f32 is at most 1.2 times that of PyTorch in 16 bits. Then the time
of a call with arguments on the device, until its result is there, and what part of the GPU's time
the kernels take that IREE generates.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import torch

import custom_dispatch as cd
from benchmarks.cases import decoder_steps, llama, minilm, model_weights, whole_models
from benchmarks.cases.model import Arguments, Case, without_kernels
from benchmarks.lib.gpu_profile import busy, generated_share, spans, timeline
from benchmarks.lib.report import quartiles
from custom_dispatch.runtime.graph_function import GraphFunction

TARGETS = ("cuda:sm_80", "cuda:sm_90a", "cpu")
COSINE_BAR, ERROR_BAR = 0.9999, 1.2
ROUNDS, IN_A_ROW = 10, 12
"""How often everybody has a turn, and the calls of a turn, of which the first two do not count."""
SLOW_S, SLOW_ROUNDS = 0.05, 5
"""Who takes longer has turns of one call, which count, and fewer of them."""
MANY, IN_FLIGHT = 10, ", one of ten in flight"
"""How many replays of a graph follow each other before one is waited for."""
ALONE, OPEN = "IREE alone", "IREE alone, open sizes"
"""IREE without kernels, compiled for the sizes of the call, and for any."""
MODES = ("default", "reduce-overhead")
"""Of `torch.compile`."""
CASES = {
    "minilm": minilm.FROM_TORCH,
    "minilm-without-products": minilm.WITHOUT_PRODUCTS,
    "minilm-onnx": minilm.FROM_ONNX,
    "llama": llama.FROM_TORCH,
    "llama-decode-1": llama.STEPS[1],
    "llama-decode-16": llama.STEPS[16],
    "llama-without-products": llama.WITHOUT_PRODUCTS,
    "llama-jax": llama.FROM_JAX,
    "llama-jax-any-length": llama.FROM_JAX_OF_ANY_LENGTH,
    **decoder_steps.CASES,
    **whole_models.CASES,
}


# -- the first half


def build(
    directory: Path, names: list[str], targets: Sequence[str], *, alone: bool, graph: bool = False
) -> None:
    """Compile every model with kernels, as a graph if asked, and without kernels if asked."""
    how = {"graph": True} if graph else {}
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        case, about = CASES[name], {}
        if case.carried == name:
            (directory / f"{name}.irpa").unlink(missing_ok=True)
        module = case.make(directory)
        calls = case.calls(directory)
        start = time.perf_counter()
        compiled = case.compiled(module, calls, targets, **how)
        about["compiled in s"] = round(time.perf_counter() - start, 1)
        report = compiled.replaced or ()
        about["replaced"] = dict(Counter(item.kernel for item in report))
        about["kernels"] = list(compiled.kernels)
        about["targets"] = list(targets)
        about["near misses"] = [str(item) for item in getattr(report, "near_misses", ())]
        compiled.save(directory / f"{name}.vmfb")
        for what, bare in _alone(case, module, calls, targets) if alone else ():
            if bare.parameters.identity != compiled.parameters.identity:
                if case.carried or case.open_sizes:
                    raise RuntimeError("the weights are not the same with kernels and without")
                about["weights alone"] = model_weights.origins(bare.parameters, module)
            (directory / _alone_file(name, what)).write_bytes(bare.bytes)
        if not case.carried:
            about["weights"] = model_weights.origins(compiled.parameters, module)
        if case.carried != name:
            (directory / f"{name}.irpa").unlink()
        (directory / f"{name}.json").write_text(json.dumps(about, indent=1))
        size = (directory / f"{name}.vmfb").stat().st_size
        print(
            f"{name}: {about['replaced'] or about['kernels']}, {size} bytes, "
            f"{about['compiled in s']} s",
            flush=True,
        )


def _alone(
    case: Case, module: torch.nn.Module, calls: dict[str, Arguments], targets: Sequence[str]
) -> Iterator[tuple[str, Any]]:
    """The model by IREE alone, by the call that it is for: empty for all."""
    if case.alone is None:
        return
    yield "", case.alone(module, calls, targets)
    if case.open_sizes:
        for what, given in calls.items():
            yield what, without_kernels(module, {what: given}, targets)


def _alone_file(name: str, call: str) -> str:
    return f"{name}.iree{'.' if call else ''}{call.replace(' ', '_')}.vmfb"


# -- the second half


def run(
    directory: Path, device: str, names: list[str], modes: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Compare, and time: a row a call."""
    for name in names:
        case = CASES[name]
        module = case.make(directory)
        weights = alone_weights = directory / f"{case.carried or name}.irpa"
        if not case.carried:
            about = json.loads((directory / f"{name}.json").read_text())
            model_weights.write(weights, about["weights"], module)
            if "weights alone" in about:
                alone_weights = directory / f"{name}.iree.irpa"
                model_weights.write(alone_weights, about["weights alone"], module)
        ours = cd.load(directory / f"{name}.vmfb", device, parameters=weights)
        module.to(device)
        for what, given in case.calls(directory).items():
            if device == "cpu" and given[0].numel() > 1 << 21:
                continue
            on_device = tuple(each.to(device) for each in given)
            right = _check(name, module, ours, on_device)
            programs = {"ours": ours}
            for column, file in (
                (OPEN if case.open_sizes else ALONE, _alone_file(name, "")),
                (ALONE, _alone_file(name, what)),
            ):
                if (directory / file).exists():
                    alone = cd.load(directory / file, device, parameters=alone_weights)
                    programs[column] = alone
                    right[f"difference of {column}"] = _difference(
                        programs[column], module, on_device
                    )
            eased = case.eased(on_device) if case.eased else None
            times = _times(module, programs, on_device, modes, eased)
            if device == "cuda":
                call = _calls_of(ours, on_device)[""]
                right |= generated_share(busy(call)) | spans(timeline(call))
            yield {"model": name, "call": what, **right, **times}


@torch.no_grad()
def _check(name: str, module: torch.nn.Module, ours: Any, given: Arguments) -> dict[str, float]:
    found = _results(ours.main, given)
    if name.startswith("minilm"):
        wanted = module(*given).cpu()
        cosine = float((found[0].cpu() * wanted).sum(-1).min())
        if cosine < COSINE_BAR:
            raise RuntimeError(f"the cosine is {cosine}")
        return {"cosine": cosine}
    if isinstance(ours.main, GraphFunction):
        again = torch.from_dlpack(ours.main.replay(*(each.clone() for each in given))[0])
        if not torch.equal(again, found[0]):
            raise RuntimeError("a replay gives something else than a call")
    half = _results(module, given)
    wide = [each.float() if each.is_floating_point() else each for each in given]
    wanted = _results(deepcopy(module).float(), wide)
    errors = []
    for mine, theirs, right in zip(found, half, wanted, strict=True):
        error, of_torch = (_relative(each, right) for each in (mine, theirs))
        if not error <= ERROR_BAR * of_torch:
            raise RuntimeError(f"the error is {error}, and PyTorch's {of_torch}")
        errors.append((error, of_torch))
    return {"error": errors[0][0], "error of PyTorch": errors[0][1]}


def _relative(found: torch.Tensor, right: torch.Tensor) -> float:
    """The relative difference, L2."""
    return float((found.to(right.device).double() - right.double()).norm() / right.double().norm())


def _difference(alone: Any, module: torch.nn.Module, given: Arguments) -> float:
    """How far the first result of IREE alone is from PyTorch's."""
    found = alone.main(*(each.clone() for each in given))
    found = torch.from_dlpack(found[0] if isinstance(found, tuple) else found)
    with torch.no_grad():
        return _relative(found, module(*(each.clone() for each in given)))


def _results(call: Callable[..., Any], given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """What a call returns, and what it leaves in its arguments."""
    own = [each.clone() for each in given]
    found = torch.from_dlpack(call(*own))
    return [found, *(each for each in own if each.is_floating_point())]


def _calls_of(program: Any, given: Arguments) -> dict[str, Callable[[], Any]]:
    """A program's calls with arguments that are there, and a graph's replay before them."""
    held = tuple(program.to_device(each.clone()) for each in given)
    plain = partial(program.main, *held)
    if not isinstance(program.main, GraphFunction):
        return {"": plain}
    replay = program.main.replay
    replay(*held)

    def in_flight() -> None:
        for _ in range(MANY - 1):
            replay(wait=False)
        replay()

    return {"": replay, IN_FLIGHT: in_flight, ", copied in and out": plain}


@torch.no_grad()
def _times(
    module: torch.nn.Module,
    programs: dict[str, Any],
    given: Arguments,
    modes: Sequence[str],
    eased: tuple[Any, ...] | None,
) -> dict[str, Any]:
    torch._dynamo.reset()  # it keeps no more than 8 compiled forms of a function
    variants: dict[str, Callable[[], Any]] = {}
    for name, program in programs.items():
        calls = _calls_of(program, given)
        variants |= {f"{name}{suffix}": call for suffix, call in calls.items()}
    for arguments, suffix in ((given, ""), (eased, ", without the mask")):
        if arguments is None:
            continue
        variants[f"PyTorch{suffix}"] = _waiting(module, arguments)
        for mode in modes:
            name = "torch.compile" + (f", {mode}" if mode != "default" else "") + suffix
            try:
                variants[name] = _waiting(_compiled(module, arguments, mode), arguments)
            except Exception as error:  # noqa: BLE001 - whatever the model leads its compiler into
                print(f"{name}: {type(error).__name__}: {str(error)[:400]}", flush=True)
    takes = {name: min(_once(call), _once(call)) for name, call in variants.items()}
    times: dict[str, list[float]] = {name: [] for name in variants}
    for turn in range(ROUNDS):
        for name, call in variants.items():
            if takes[name] > SLOW_S:
                if turn < SLOW_ROUNDS:
                    times[name].append(_once(call) * 1e3)
                continue
            # As a model is called: not after others have let IREE's threads fall asleep.
            turns = [_once(call) * 1e3 for _ in range(IN_A_ROW)]
            times[name] += turns[2:]
    for name in times:
        if name.endswith(IN_FLIGHT):
            times[name] = [each / MANY for each in times[name]]
    found: dict[str, Any] = {name: quartiles(values) for name, values in times.items()}
    if given[0].is_cuda:
        for name in (each for each in variants if "orch" in each):
            found[f"us on the GPU, {name}"] = round(sum(busy(variants[name]).values()), 1)
    return found


def _once(call: Callable[[], Any]) -> float:
    """What one call takes, in seconds."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _waiting(call: Callable[..., Any], given: tuple[Any, ...]) -> Callable[[], None]:
    def run() -> None:
        call(*given)
        if given[0].is_cuda:
            torch.cuda.synchronize()

    return run


def _compiled(module: torch.nn.Module, given: tuple[Any, ...], mode: str) -> Callable[..., Any]:
    """A model by `torch.compile`, for these sizes, compiled."""
    for each in filter(torch.is_tensor, given):
        # As transformers does with its caches: CUDA graphs may then write into them.
        torch._dynamo.mark_static_address(each)
    compiled: Callable[..., Any] = torch.compile(module, mode=mode, dynamic=False)
    for _ in range(3):
        compiled(*given)
    return compiled


def _line(row: dict[str, Any]) -> str:
    right = f"cosine {row['cosine']:.7f}" if "cosine" in row else f"error {row['error']:.4f}"
    timed = ["ours", *(name for name in row if isinstance(row[name], tuple) and name != "ours")]
    times = ", ".join(f"{name} {row[name][0]:.3f} ms" for name in timed)
    ratios = ", ".join(f"{row[name][0] / row['ours'][0]:.2f}x {name}'s" for name in timed[1:])
    share = row.get("generated share")
    generated = "" if share is None else f"; generated {share:.1%}"
    return f"{row['model']:20} {row['call']:28} {right:18} {times}; speed {ratios}{generated}"


def _save(file: Path, device: str, directory: Path, rows: list[dict[str, Any]]) -> None:
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for package in ("iree-base-runtime", "torch", "transformers", "numpy"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    models = {}
    for name in {row["model"] for row in rows}:
        about = json.loads((directory / f"{name}.json").read_text())
        said = ("targets", "kernels", "replaced", "compiled in s")
        models[name] = {key: about[key] for key in said if key in about}
    content = {
        "command": "python -m benchmarks gpu.models build DIRECTORY (no GPU), then: run DIRECTORY "
        f"--device {device}",
        "device": str(next(item for item in cd.devices() if item.kind == device)),
        "date": time.strftime("%Y-%m-%d"),
        "versions": versions,
        "unit": "ms a call: median, distance of quartiles",
        "models": models,
        "rows": rows,
    }
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    """Build or run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("half", choices=("build", "run", "both"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("--model", choices=tuple(CASES), action="append")
    parser.add_argument("--zoo", action="store_true", help="whole models of transformers alone")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument(
        "--target", action="append", help="to build for: cuda:sm_90a; again for each"
    )
    parser.add_argument("--graph", action="store_true", help="build models as graphs")
    parser.add_argument("--without-alone", action="store_true", help="build nothing of IREE alone")
    parser.add_argument(
        "--torch-compile",
        choices=(*MODES, "no"),
        action="append",
        help="how to time torch.compile; again for each; both, if it is left out",
    )
    parser.add_argument("--save", type=Path, help="the results' file")
    options = parser.parse_args()
    names = options.model or list(whole_models.CONFIGURATIONS if options.zoo else CASES)
    if options.half != "run":
        targets = options.target or TARGETS
        alone = not options.without_alone
        build(options.directory, names, targets, alone=alone, graph=options.graph)
    if options.half == "build":
        return 0
    modes = [mode for mode in options.torch_compile or MODES if mode != "no"]
    rows = []
    for row in run(options.directory, options.device, names, modes):
        rows.append(row)
        print(_line(row), flush=True)
        if options.save:  # so far: a later model may fail
            _save(options.save, options.device, options.directory, rows)
    return 0
