"""PyTorch models that change their own buffers, which are state of the module."""

from __future__ import annotations

import copy
import dataclasses
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import custom_dispatch as cd
from cuda_kernels.patterns import torch as torch_patterns
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.errors import LinkError, ModelError
from custom_dispatch.frontends.torch.importer import export_model
from custom_dispatch.frontends.torch.replacing import put_kernels
from custom_dispatch.runtime.program import Program
from tests.places import import_program

multiply = cd.torch.register(simple_mul, namespace="states")
scaled = cd.torch.register(simple_mul_inplace, namespace="states")  # (x, y): the new y
TOOLS = Path(sysconfig.get_path("scripts"))
SIZE = 8


class Model(torch.nn.Module):
    """A function as a model, with buffers."""

    def __init__(self, function: Callable[..., Any], **buffers: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *arguments: torch.Tensor) -> Any:
        return self.function(self, *arguments)


def numbers(step: int) -> torch.Tensor:
    return torch.arange(SIZE) + float(step)


def numpy_of(step: int) -> numpy.ndarray[Any, Any]:
    found: numpy.ndarray[Any, Any] = numbers(step).numpy()
    return found


def check(program: Program, model: torch.nn.Module, calls: int = 4) -> None:
    """Compare calls with those of a fresh copy of the model, before and after a reset."""
    for _ in range(2):
        fresh = copy.deepcopy(model)
        for step in range(calls):
            wanted = fresh(numbers(step))
            found = program.main(numpy_of(step))
            assert len(found) == len(wanted)
            for index, (one, other) in enumerate(zip(found, wanted, strict=True)):
                numpy.testing.assert_array_equal(
                    one.astype(numpy.float64), other.double().numpy(), f"{step}, {index}"
                )
        program.reset()


def every_type(model: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    model.step += 1
    model.seen[model.step.reshape(1)] = True
    model.f16.add_(x.half())
    model.bf16.add_(x.bfloat16())
    model.f64.add_(x.double())
    model.i32 += 2
    model.even = ~model.even
    model.mean.mul_(0.5).add_(x.mean())
    model.weight.mul_(2)
    before = model.table[0].clone()
    model.table[2:4] = x
    return (
        model.step, model.seen, model.f16, model.bf16.float(), model.f64, model.i32, model.even,
        model.mean, model.tied, before, model.table[:4].clone(), model.weight,
        multiply(x, model.mean),
    )  # fmt: skip


@pytest.fixture(scope="module")
def typed() -> torch.nn.Module:
    model = Model(
        every_type,
        step=torch.zeros((), dtype=torch.int64),
        seen=torch.zeros(16, dtype=torch.bool),
        f16=torch.full((SIZE,), 3.0, dtype=torch.half),
        bf16=torch.zeros(SIZE, dtype=torch.bfloat16),
        f64=torch.linspace(0, 1, SIZE, dtype=torch.float64),
        i32=torch.arange(3, dtype=torch.int32),
        even=torch.arange(6).reshape(2, 3) % 2 == 0,
        table=torch.arange(2000.0 * SIZE).reshape(-1, SIZE),
        mean=torch.zeros(SIZE),
    )
    model.register_buffer("tied", model.mean)
    model.weight = torch.nn.Parameter(torch.ones(SIZE), requires_grad=False)
    return model


def test_buffers_of_every_type_are_kept_between_calls(
    typed: torch.nn.Module, tmp_path: Path
) -> None:
    module = cd.torch.compile(typed, (numbers(0),), ["cpu"])
    assert typed.step == 0
    assert module.parameters is not None  # the table's first value, and no zeros
    assert [item.name for item in module.parameters.entries] == ["table"]
    typed.table.add_(1)  # what is stored is what was there when it was compiled
    typed.table.sub_(1)
    saved = tmp_path / "model.vmfb"
    module.save(saved)
    archive = saved.with_suffix(".irpa").read_bytes()
    program = cd.load(saved, "cpu")
    assert list(program.functions) == ["main", "reset"]
    assert str(program.reset.type) == "() -> ()"
    check(program, typed)

    other = cd.load(saved, "cpu")  # with a state of its own
    assert program.main(numpy_of(0))[0] == 1
    assert program.main(numpy_of(0))[0] == 2
    assert other.main(numpy_of(0))[0] == 1
    assert saved.with_suffix(".irpa").read_bytes() == archive
    done = subprocess.run(
        [TOOLS / "iree-run-module", f"--module={saved}", "--device=local-task",
         f"--parameters=model={saved.with_suffix('.irpa')}", "--function=main",
         "--input=8xf32=0 1 2 3 4 5 6 7"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[2] == "i64=1"


@pytest.mark.thorough
def test_buffers_of_every_type_stay_where_they_are_in_a_graph(typed: torch.nn.Module) -> None:
    program = cd.load(cd.torch.compile(typed, (numbers(0),), ["cpu"], graph=True), "cpu")
    check(program, typed)
    fresh = copy.deepcopy(typed)
    program.reset.replay()
    for step in range(3):
        wanted = fresh(numbers(step))
        for one, other in zip(program.main.replay(numbers(step)), wanted, strict=True):
            numpy.testing.assert_array_equal(
                numpy.asarray(one).astype(numpy.float64), other.double().numpy()
            )


def intertwined(model: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    # Twins: the same first value, both updated in place.
    model.a.copy_(scaled(x, model.a))
    model.b.copy_(scaled(x + 1, model.b))
    # One becomes the other one as it was, which is updated in place then.
    model.previous.copy_(model.current)
    model.current.copy_(scaled(x, model.current))
    # Swapped, by way of a kernel and not.
    old = model.left.clone()
    model.left.copy_(scaled(x, model.right))
    model.right.copy_(old)
    first = model.first.clone()
    model.first.copy_(model.second)
    model.second.copy_(first)
    # The same value, of which one is updated in the next call.
    before = multiply(model.one, model.other)
    model.one.copy_(scaled(x, model.one))
    updated = multiply(model.one, model.other)
    model.one.copy_(x + 1)
    model.other.copy_(x + 1)
    # A constant, and a value that was read before it changed.
    emptied = model.emptied + 1
    model.emptied.zero_()
    model.zeros.copy_(scaled(x, model.zeros + 1) * 0)
    read = model.read.flip(0)
    model.read.copy_(scaled(x, model.read))
    return (
        model.a, model.b + 0, model.previous * 1, model.current, model.left, model.right,
        model.first - model.second, before, updated, emptied, model.zeros, read, model.read,
    )  # fmt: skip


def test_each_buffer_has_memory_of_its_own() -> None:
    names = ["a", "b", "previous", "current", "left"]
    names += ["one", "other", "read", "first", "emptied"]
    ones = {name: torch.ones(SIZE) for name in names}
    twos = {name: torch.full((SIZE,), 2.0) for name in ("right", "second")}
    model = Model(intertwined, **ones, **twos, zeros=torch.zeros(SIZE))
    check(cd.load(cd.torch.compile(model, (numbers(0),), ["cpu"]), "cpu"), model)


def exchanged(model: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    a, b = model.a.clone(), model.b.clone()
    read = model.a.outer(x) + model.c  # which takes longer than what follows
    model.a.copy_(b)
    model.b.copy_(a)
    model.c[2:5] = read[1:4, 3:].sum(0)[:3, None]
    new = [model.a * x + model.d, model.c.mean(0) + a, model.d.flip(0)]
    model.d.copy_(new[2])
    model.e.copy_(scaled(x, model.e))
    return read, a, model.c[1:3].clone(), new[0], new[1], model.d + 0, model.e + 0, x


def test_a_graph_writes_a_state_when_all_have_read_it() -> None:
    names = {name: numbers(index) for index, name in enumerate("abde")}
    model = Model(exchanged, **names, c=torch.ones(SIZE, SIZE))
    check(cd.load(cd.torch.compile(model, (numbers(0),), ["cpu"], graph=True), "cpu"), model)


@pytest.mark.parametrize("graph", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_a_model_may_return_nothing(graph: bool) -> None:
    def add(model: Any, x: torch.Tensor) -> None:
        model.total += x

    model = Model(add, total=torch.ones(SIZE))
    program = cd.load(cd.torch.compile(model, (numbers(0),), ["cpu"], graph=graph), "cpu")
    assert program.main(numpy_of(0)) is None
    with pytest.raises(ModelError, match="result 0 is None"):
        cd.torch.compile(Model(lambda *_: None), (numbers(0),), ["cpu"])


class Greedy(torch.nn.Module):
    """A step of a decoder that picks the next token."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(50, 32)
        self.project = torch.nn.Linear(32, 64)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, 2, 12, 16))

    def forward(self, token: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        x = self.words(token)
        k, v = self.project(x).view(1, 1, 2, 2, 16).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, position, k)
        self.values.index_copy_(2, position, v)
        mask = torch.arange(12)[None] <= position[:, None]
        q = x.view(1, 1, 2, 16).transpose(1, 2)
        y = torch.nn.functional.scaled_dot_product_attention(q, self.keys, self.values, mask)
        return (y.transpose(1, 2).reshape(1, 1, 32) @ self.words.weight.T).argmax(-1)


def test_what_a_graph_copies_first_waits_for_the_calls_before() -> None:
    # IREE copies constants into the memory between commands without waiting for anything.
    model = Greedy().eval()
    given = [(torch.tensor([[7 * step]]), torch.tensor([step])) for step in range(7)]
    program = cd.load(cd.torch.compile(model, given[0], ["cpu"], graph=True), "cpu")
    found = [program.main.submit(*each) for each in given]
    for each, arguments in zip(found, given, strict=True):
        assert numpy.asarray(each.result()).item() == model(*arguments).item()


def test_results_and_arguments_stay_as_they_are() -> None:
    def function(model: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = model.kept.clone()
        model.state.copy_(scaled(x, model.state))
        model.kept.copy_(x)
        return model.state, multiply(x, y)

    model = Model(function, state=torch.ones(SIZE), kept=torch.zeros(SIZE))
    program = cd.load(cd.torch.compile(model, (numbers(0),), ["cpu"]), "cpu")
    given = [program.to_device(numpy_of(step)) for step in range(1, 4)]
    calls = [program.main.submit(x) for x in given]
    results = [call.result() for call in calls]
    wanted = torch.ones(SIZE)
    for step, (state, product) in enumerate(results, 1):
        wanted = wanted * numbers(step)
        numpy.testing.assert_array_equal(state.to_host(), wanted)
        before = numbers(step - 1) if step > 1 else torch.zeros(SIZE)
        numpy.testing.assert_array_equal(product.to_host(), numbers(step) * before)
        numpy.testing.assert_array_equal(given[step - 1].to_host(), numbers(step))
    tensor = torch.full((SIZE,), 9.0)
    program.main(tensor)
    tensor.fill_(11)  # it was copied into `kept`
    numpy.testing.assert_array_equal(program.main(numbers(0))[1].to_host(), numbers(0) * 9)


@dataclasses.dataclass(slots=True, frozen=True)
class Layer:
    keys: torch.Tensor
    values: list[torch.Tensor]


def held(model: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    model.box[0].add_(1)
    model.table["sums"][0] += x  # a view is written
    model.pair[1][1].mul_(2)
    model.layer.keys.copy_(model.layer.keys + x)
    model.layer.values[0].data.sub_(x)
    model.registered.add_(1)
    before = model.others[0] * 2  # the same tensor
    model.others[0].mul_(2)
    model.weight.add_(1)
    model.last = x * 3  # which the next call does not read
    model.size = x.shape[0]
    scale = model.box[0].tolist()
    return (
        model.box[0], model.table["sums"], model.pair[1][1], model.layer.keys,
        model.layer.values[0], model.registered, before, model.head(x.reshape(1, SIZE)),
        multiply(x, model.last), x * scale, model.plain[0] + 1,
    )  # fmt: skip


def holding(function: Callable[..., Any]) -> Any:
    model = Model(function, registered=torch.zeros(SIZE))
    model.box = [torch.zeros(())]
    model.table = {"sums": torch.ones(2, SIZE)}
    model.pair = (1, (2, torch.ones(SIZE)))
    model.layer = Layer(torch.zeros(SIZE), [torch.zeros(SIZE)])
    model.others = [model.registered]
    model.plain = [torch.arange(SIZE)]
    model.last, model.size, model.calls, model.first = torch.zeros(SIZE), None, 0, True
    model.embedding = torch.nn.Embedding(200, SIZE)
    model.head = torch.nn.Linear(SIZE, 200, bias=False)
    model.head.weight = model.embedding.weight  # tied
    model.weight = torch.nn.Parameter(torch.zeros(SIZE), requires_grad=False)
    model.weights = [model.weight, model.head.weight]
    return model


def contents(model: Any) -> list[Any]:
    tensors = [
        model.box[0], model.table["sums"], model.pair[1][1], model.layer.keys,
        model.layer.values[0], model.registered, model.others[0], model.weight, model.last,
        model.plain[0], *model.weights,
    ]  # fmt: skip
    containers = [model.box, model.table, model.pair, model.layer, model.others, model.weights]
    names = [sorted(map(str, vars(model))), sorted(model._buffers), model.size, model.calls]
    return [
        [(id(tensor), tensor.tolist(), tensor.requires_grad) for tensor in tensors],
        [id(each) for each in containers],
        names,
        list(model._non_persistent_buffers_set),
    ]


def test_state_may_be_held_anywhere_and_the_model_stays_as_it_was() -> None:
    model = holding(held)
    before = contents(model)
    module = cd.torch.compile(model, (numbers(1),), ["cpu"])
    assert contents(model) == before
    assert module.parameters is not None  # tied weights are one
    assert [each.name for each in module.parameters.entries] == ["head.weight"]
    with torch.no_grad():
        check_close(cd.load(module, "cpu"), model)


def check_close(program: Program, model: torch.nn.Module) -> None:
    fresh = copy.deepcopy(model)
    for step in range(3):
        for found, wanted in zip(program.main(numpy_of(step)), fresh(numbers(step)), strict=True):
            numpy.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def counting(model: Any, x: torch.Tensor) -> torch.Tensor:
    model.calls += 1
    return multiply(x, x)


def branching(model: Any, x: torch.Tensor) -> torch.Tensor:
    first, model.first = model.first, False
    return multiply(x, x) if first else x


def growing(model: Any, x: torch.Tensor) -> torch.Tensor:
    model.box.append(multiply(x, x))
    return sum(model.box)


def replacing(model: Any, x: torch.Tensor) -> torch.Tensor:
    object.__setattr__(model.layer, "keys", model.layer.keys + x)
    return multiply(x, model.layer.keys)


@pytest.mark.parametrize(
    ("function", "name"),
    [(counting, "calls"), (branching, "first"), (growing, "box[1]"), (replacing, "layer.keys")],
)
def test_what_the_next_call_needs_is_refused_unless_it_is_a_tensor_that_is_written(
    function: Callable[..., Any], name: str
) -> None:
    model = holding(function)
    before = contents(model)
    assert refusal(model).startswith(f"While it runs, the model sets `self.{name}`, which is not")
    assert contents(model) == before


def test_a_model_that_fails_or_writes_elsewhere_stays_as_it_was() -> None:
    elsewhere = torch.zeros(SIZE)

    def failing(model: Any, x: torch.Tensor) -> torch.Tensor:
        model.box[0].add_(1)
        model.box.append(x)
        raise ValueError("no")

    def writing(model: Any, x: torch.Tensor) -> torch.Tensor:
        elsewhere.add_(1)
        return multiply(x, elsewhere)

    model = holding(failing)
    before = contents(model)
    assert refusal(model).startswith("PyTorch cannot export the model.")
    assert contents(model) == before
    assert refusal(holding(writing)) == (
        "The model changes a tensor that it does not hold.\n"
        "  expected: a buffer, or a tensor in an attribute, a list or an object of the model's\n"
        "  next step: make it a buffer: self.register_buffer(name, tensor)."
    )
    assert not elsewhere.any()


class Cache(torch.nn.Module):
    """New positions into a cache, of which there may be any number."""

    def __init__(self, registered: bool) -> None:
        super().__init__()
        tensor = torch.zeros(1, 2, 16, SIZE)
        if registered:
            self.register_buffer("cache", tensor, persistent=False)
        self.held = [tensor]  # as an object that is no module holds it
        self.register_buffer("length", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(x.shape[2]) + self.length
        self.length.add_(x.shape[2])
        self.held[0].index_copy_(2, positions, x)
        return self.held[0].sum(2)


@pytest.mark.parametrize("registered", [False, True])
def test_a_cache_is_written_in_place_by_steps_of_any_size(registered: bool) -> None:
    model = Cache(registered)
    shapes = {"x": {2: torch.export.Dim("count", min=1, max=16)}}
    example = (torch.ones(1, 2, 3, SIZE),)
    program = export_model(model, example, shapes)
    imported = import_program(program, "main", for_patterns=True)
    put_kernels(imported, torch_patterns.write_cache, [])
    text = str(imported.module)
    stores = [line for line in text.splitlines() if "util.global.store" in line]
    assert len(stores) == 2 + 4  # in a call; when it is loaded, and by the reset
    assert text.count("call @") == 4  # of first values, to copy them: in a call nothing is
    if not registered:
        return
    loaded = cd.load(
        cd.torch.compile(
            model, example, ["cpu"], dynamic_shapes=shapes, replace=torch_patterns.write_cache
        ),
        "cpu",
    )
    for count in (5, 1, 2):
        x = torch.randn(1, 2, count, SIZE)
        torch.testing.assert_close(torch.from_numpy(loaded.main(x.numpy())), model(x))


def refusal(model: torch.nn.Module, **options: Any) -> str:
    with pytest.raises((ModelError, LinkError)) as caught:
        cd.torch.compile(model, (numbers(0),), ["cpu"], **options)
    return str(caught.value)


def test_a_buffer_in_the_memory_of_another_is_refused() -> None:
    def function(model: Any, x: torch.Tensor) -> torch.Tensor:
        model.row.add_(x)
        return multiply(x, model.table[0])

    table = torch.zeros(2, SIZE)
    assert refusal(Model(function, table=table, row=table[0])) == (
        "The model changes its buffer `row`, which shares memory with `table`.\n"
        "  expected: a buffer with memory of its own\n"
        "  next step: register one of them, and take views of it in `forward`."
    )


def test_a_tensor_that_is_set_and_no_buffer_is_refused() -> None:
    def function(model: Any, x: torch.Tensor) -> torch.Tensor:
        model.last = model.last + x
        return multiply(x, model.last)

    model = Model(function)
    model.last = torch.zeros(SIZE)
    assert refusal(model) == (
        "While it runs, the model sets `self.last`, which is not a buffer.\n"
        "  expected: a buffer, whose changes a module keeps between calls\n"
        "  next step: make it one: self.register_buffer(name, tensor); or return the new value "
        "instead. What the first call alone sets is there if the model is called before."
    )
    fine = Model(function, last=torch.zeros(SIZE))
    assert "BUFFER_MUTATION" in str(export_model(fine, (numbers(0),), None).graph_signature)


def test_the_name_of_the_reset_is_taken() -> None:
    def function(model: Any, x: torch.Tensor) -> torch.Tensor:
        model.sum += x
        return multiply(x, model.sum)

    assert refusal(Model(function, sum=torch.zeros(SIZE)), name="reset") == (
        "The function of a model that changes its buffers is named `reset`.\n"
        "  expected: another name: `reset` gives the buffers their first values again\n"
        '  next step: cd.torch.compile(..., name="main").'
    )


def test_a_buffer_of_complex_numbers_is_refused() -> None:
    def function(model: Any, x: torch.Tensor) -> torch.Tensor:
        model.turn.mul_(1j)
        return multiply(x, model.turn.real)

    assert refusal(Model(function, turn=torch.ones(SIZE, dtype=torch.complex64))) == (
        "The model changes its buffer `turn`, which is complex64: modules do not keep that.\n"
        "  expected: a buffer of real numbers of 8 bits or more, or of bools\n"
        "  next step: keep its real and imaginary parts: torch.view_as_real."
    )
