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


def test_an_array_of_no_dimensions_is_no_list() -> None:
    with pytest.raises(DeclarationError, match=r"array\(5\) is not a kernel"):
        cd.build(numpy.array(5), GPU)


@pytest.mark.parametrize("number", [10**5000, Unprintable(), numpy.zeros((3, 3))], ids=type)
def test_a_number_that_cannot_be_shown(number: Any) -> None:
    program = cd.load(cd.compile(None, [scale], ["cpu"]), "cpu")
    with pytest.raises(CallError, match=r"Argument 1 of `scale` is a value of type \w+\."):
        program.scale(numpy.ones(4, "f4"), number, 4)
