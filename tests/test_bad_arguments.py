"""What is given to a function of the package and is nothing that it takes, whatever it is."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from sample_kernels.samples import scale

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import (
    CallError,
    CustomDispatchError,
    DeclarationError,
    DeviceError,
    ModelError,
    ModuleFileError,
    OutputError,
)

GPU = ["cuda:sm_80"]


@functools.cache
def module() -> cd.CompiledModule:
    return cd.compile(None, [simple_mul], ["cpu"])


class Unprintable:
    """Its `repr` fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


NOTHING = [
    5,
    10**5000,
    1.5,
    object(),
    Unprintable(),
    numpy.zeros(3),
    numpy.array(5),
    b"x",
    [5],
    [Unprintable()],
    "\ud800",
    "a\0b",
    lambda: 1,
]
"""None of these is a path, a compiler, a device, a flag, a target or a kernel."""

Given = Callable[[Any], object]
CALLS: dict[str, tuple[Given, type[CustomDispatchError]]] = {
    "kernels of build": (lambda it: cd.build(it, GPU), DeclarationError),
    "targets": (lambda it: cd.build(simple_mul, it), DeclarationError),
    "compiler": (lambda it: cd.build(simple_mul, GPU, compiler=it), DeclarationError),
    "image": (lambda it: cd.build(simple_mul, GPU, image=it), DeclarationError),
    "objects": (lambda it: cd.build(simple_mul, GPU, objects=it), DeclarationError),
    "include_dirs": (lambda it: cd.build(simple_mul, GPU, include_dirs=[it]), DeclarationError),
    "kernels of compile": (lambda it: cd.compile(None, it, ["cpu"]), DeclarationError),
    "model": (lambda it: cd.compile(it, [simple_mul], ["cpu"]), ModelError),
    "replace": (lambda it: cd.compile("{}", [simple_mul], ["cpu"], replace=it), DeclarationError),
    "flags": (lambda it: cd.compile(None, [simple_mul], ["cpu"], flags=it), DeclarationError),
    "a flag": (lambda it: cd.compile(None, [simple_mul], ["cpu"], flags=[it]), DeclarationError),
    "form": (lambda it: cd.emit([simple_mul], GPU, output="x", form=it), DeclarationError),
    "store": (lambda it: cd.compile(None, simple_mul, GPU, store=it), DeclarationError),
    "store of build": (lambda it: cd.build(simple_mul, GPU, store=it), DeclarationError),
    "asynchronous": (
        lambda it: cd.compile(None, simple_mul, GPU, asynchronous=it),
        DeclarationError,
    ),
    "fail_on_spill": (lambda it: cd.build(simple_mul, GPU, fail_on_spill=it), DeclarationError),
    "embed": (lambda it: cd.emit(simple_mul, GPU, output="x", embed=it), DeclarationError),
    "kernels of torch": (
        lambda it: cd.torch.compile(None, (), GPU, kernels=it),  # type: ignore[arg-type]
        DeclarationError,
    ),
    "kernels of jax": (
        lambda it: cd.jax.compile(None, (), GPU, kernels=it),  # type: ignore[arg-type]
        DeclarationError,
    ),
    "kernels of onnx": (
        lambda it: cd.onnx.compile("x", GPU, kernels=it),
        DeclarationError,
    ),
    "argument of jax": (lambda it: cd.jax.compile(len, (it, object()), GPU), ModelError),
    "output": (lambda it: cd.emit([simple_mul], GPU, output=it), OutputError),
    "save": (lambda it: module().save(it), OutputError),
    "load": (lambda it: cd.load(it), ModuleFileError),
    "device": (lambda it: cd.load(module(), it), DeviceError),
    "device of a call": (lambda it: simple_mul.on(it)(1, 2), DeviceError),
    "parameters": (lambda it: cd.load(module(), "cpu", parameters=it), ModuleFileError),
    "some parameters": (lambda it: cd.load(module(), "cpu", parameters={"": it}), ModuleFileError),
    "rules": (lambda it: cd.Choice("c", [simple_mul], rules=it), DeclarationError),
    "a rule": (lambda it: cd.Choice("c", [simple_mul], rules={"simple_mul": it}), DeclarationError),
}


@pytest.fixture(autouse=True)
def nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", CALLS)
def test_it_is_a_sentence(what: str) -> None:
    call, kind = CALLS[what]
    for given in NOTHING:
        with pytest.raises(kind) as caught:
            call(given)
        assert caught.value.found
        assert caught.value.next_step


def test_a_text_turns_nothing_on() -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.compile(None, simple_mul, GPU, store="off")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "store is given as 'off'.\n"
        "  expected: True or False\n"
        "  next step: give store=True or store=False."
    )


@pytest.mark.parametrize("value", [-1, 1.5, "4096", object(), numpy.zeros(3), True])
def test_sizes_of_what_is_inline(value: Any) -> None:
    for front_end in (
        lambda: cd.torch.compile(None, (), GPU, inline_bytes=value),  # type: ignore[arg-type]
        lambda: cd.jax.compile(len, (), GPU, inline_bytes=value),
        lambda: cd.onnx.compile("x", GPU, inline_bytes=value),
    ):
        with pytest.raises(DeclarationError, match="inline_bytes is given as ") as caught:
            front_end()
        assert caught.value.expected == "a number of bytes, or None"


@pytest.mark.parametrize(
    "axes", [{"lhs": ("a", 1)}, {"lhs": (None, 0)}, {1: (0,)}, 5, numpy.ones(3)]
)
def test_orders_of_axes(axes: Any) -> None:
    with pytest.raises(DeclarationError, match="axes"):
        cd.jax.Pattern(simple_mul, lambda lhs, rhs: lhs * rhs, axes=axes)


def test_an_array_of_no_dimensions_is_no_list() -> None:
    with pytest.raises(DeclarationError, match=r"array\(5\) is not a kernel"):
        cd.build(numpy.array(5), GPU)


@pytest.mark.parametrize("number", [10**5000, Unprintable(), numpy.zeros((3, 3))], ids=type)
def test_a_number_that_cannot_be_shown(number: Any) -> None:
    program = cd.load(cd.compile(None, [scale], ["cpu"]), "cpu")
    with pytest.raises(CallError, match=r"Argument 1 of `scale` is a value of type \w+\."):
        program.scale(numpy.ones(4, "f4"), number, 4)
