"""Several functions of PyTorch models in one module, which share weights and state."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy
import pytest
import torch

import custom_dispatch as cd
from cuda_kernels.patterns import torch as torch_patterns
from custom_dispatch.errors import (
    CallError,
    DeclarationError,
    GraphError,
    ModelError,
    VerificationError,
)

PLACES, WIDTH, HEADS = 24, 32, 2


class Decoder(torch.nn.Module):
    """One layer, whose cache is state; `length` is not changed in place."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words = torch.nn.Embedding(50, WIDTH)
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.cache = [torch.zeros(1, HEADS, PLACES, WIDTH // HEADS) for _ in range(2)]
        self.register_buffer("length", torch.zeros((), dtype=torch.int64))

    def forward(self, ids: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.words(ids)).view(1, -1, 3, HEADS, WIDTH // HEADS).unbind(2)
        self.cache[0].index_copy_(2, places, k.transpose(1, 2))
        self.cache[1].index_copy_(2, places, v.transpose(1, 2))
        self.length += ids.shape[1]
        later = torch.arange(PLACES) > places[:, None]
        scores = q.transpose(1, 2) @ self.cache[0].transpose(2, 3)
        x = scores.masked_fill(later, -torch.inf).softmax(-1) @ self.cache[1]
        return x.transpose(1, 2).reshape(1, -1, WIDTH) @ self.words.weight.T

    def cached(self, place: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.cache[0][:, :, place], self.length.clone()


def given(count: int, first: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(50, (1, count)), torch.arange(first, first + count)


CALLS = {"prefill_4": given(4), "prefill_9": given(9), "step": given(1)}


def check(program: Any, model: Decoder) -> None:
    """Prompts and steps in turn, against those of a copy of the model, before and after a reset."""
    for _ in range(2):
        eager, place = copy.deepcopy(model), 0
        for name, count in (("prefill_9", 9), ("step", 1), ("step", 1), ("prefill_4", 4)) * 2:
            ids, places = given(count, place % 15)
            place += count
            wanted = eager(ids, places).detach().numpy()
            function = name if name in program.functions else "prefill_9"
            found = program.function(function)(ids.numpy(), places.numpy())
            numpy.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
            if "cached" in program.functions:
                keys, length = program.cached(places[-1:].numpy())
                assert length == place
                numpy.testing.assert_allclose(
                    keys, eager.cached(places[-1:])[0].detach().numpy(), rtol=1e-4, atol=1e-5
                )
        program.reset()


@pytest.mark.parametrize("graph", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_functions_share_weights_and_state(graph: bool) -> None:
    model = Decoder().eval()
    models = {**dict.fromkeys(CALLS, model), "cached": model.cached}
    arguments = {**CALLS, "cached": (torch.tensor([3]),)}
    how: dict[str, Any] = {"graph": graph, "replace": torch_patterns.write_cache}
    module = cd.torch.compile(models, arguments, ["cpu"], verify=not graph, **how)
    alone = cd.torch.compile(model, CALLS["step"], ["cpu"], **how)
    assert module.parameters is not None
    assert alone.parameters is not None
    assert module.parameters.described() == alone.parameters.described()
    places = [(item.kernel, item.place.function) for item in module.replaced or ()]
    assert places == [("write_cache_f32", name) for name in CALLS for _ in range(2)]
    assert [item.place.function for item in alone.replaced or ()] == ["", ""]
    assert re.search(r"write_cache_f32 +prefill_9 ", str(module.replaced))
    program = cd.load(module, "cpu")
    assert list(program.functions) == [*CALLS, "cached", "reset"]
    check(program, model)
    if graph:  # the caches are there once, and what is no cache twice
        kept = dict(program.report().memory)
        assert kept["state"] == 2 * PLACES * WIDTH * 4 + 2 * 8
        program.step.replay(*given(1))


def test_a_prompt_of_any_length_shares_the_state_of_a_graph() -> None:
    model = Decoder().eval()
    count = torch.export.Dim("count", min=2, max=PLACES)
    calls = {name: CALLS[name] for name in ("prefill_9", "step")}
    shapes = {"prefill_9": ({1: count}, {0: count})}
    how: dict[str, Any] = {"replace": torch_patterns.write_cache, "dynamic_shapes": shapes}
    with pytest.raises(GraphError, match="`prefill_9` cannot be a graph: argument 0 has an open"):
        cd.torch.compile(model, calls, ["cpu"], graph=True, **how)
    module = cd.torch.compile(model, calls, ["cpu"], graph="where possible", **how)
    assert re.findall(r"`(\w+)` cannot be", module.no_graph) == ["prefill_9"]
    program = cd.load(module, "cpu")
    check(program, model)
    program.step.replay(*given(1))
    with pytest.raises(CallError, match="`prefill_9` is no graph"):
        program.prefill_9.replay()


class Counter(torch.nn.Module):
    def __init__(self, weight: torch.Tensor, scale: float) -> None:
        super().__init__()
        self.register_buffer("total", torch.full((3,), scale))
        self.weight = torch.nn.Parameter(weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total += x * self.weight
        return self.total * 1


def test_models_with_buffers_of_one_name_have_states_of_their_own() -> None:
    weight = torch.randn(3)
    models = {"first": Counter(weight, 1.0), "second": Counter(weight, 2.0)}
    module = cd.torch.compile(models, (torch.ones(3),), ["cpu"], graph=True)
    program = cd.load(module, "cpu")
    for name in ("first", "second", "second", "first"):
        x = torch.randn(3)
        wanted = models[name](x).detach().numpy()
        numpy.testing.assert_allclose(program.function(name)(x.numpy()), wanted, rtol=1e-6)


def test_a_state_of_which_another_function_has_a_part_is_refused() -> None:
    model = Counter(torch.ones(3), 1.0)
    part = torch.nn.Linear(2, 2, bias=False)
    part.weight = torch.nn.Parameter(model.total[:2].expand(2, 2), requires_grad=False)
    with pytest.raises(ModelError, match=r"changes `total`, which shares memory with `weight`"):
        cd.torch.compile(
            {"count": model, "part": part}, {"count": (torch.ones(3),), "part": (torch.ones(2),)}
        )


def test_exported_programs_of_one_model_share_its_state() -> None:
    model = Counter(torch.ones(3), 0.0)
    programs = {
        name: torch.export.export(model, (torch.ones(3),), strict=False) for name in ("one", "two")
    }
    program = cd.load(cd.torch.compile(programs, (), ["cpu"]), "cpu")
    program.one(torch.ones(3).numpy())
    numpy.testing.assert_allclose(program.two(torch.ones(3).numpy()), 2)


class Branches(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x


@pytest.mark.parametrize(
    ("model", "arguments", "options", "error", "message"),
    [
        (Decoder(), {}, {}, DeclarationError, "asked for: none; and what is given is not for"),
        (Decoder(), {"a b": given(1)}, {}, DeclarationError, "'a b'"),
        (Decoder(), {"reset": given(1)}, {}, ModelError, "is named `reset`"),
        (
            Decoder(),
            CALLS,
            {"name": "x"},
            DeclarationError,
            "asked for: prefill_4, prefill_9, step",
        ),
        ({"a": Decoder()}, CALLS, {}, DeclarationError, "mappings of the same names"),
        (Decoder(), CALLS, {"dynamic_shapes": ({0: None},)}, DeclarationError, "of sizes that may"),
        (Decoder(), CALLS, {"dynamic_shapes": {"x": None}}, DeclarationError, "of sizes that may"),
        (Decoder(), {"a": given(1), "b": 3}, {}, ModelError, "Function `b`: The model's arguments"),
        (
            {"a": torch.nn.ReLU(), "b": Branches()},
            (torch.randn(3),),
            {},
            ModelError,
            "Function `b`: Sizes or branches of the model depend on its data",
        ),
        (torch.relu, (torch.randn(3),), {}, ModelError, "a torch.nn.Module, a method of one"),
    ],
)
def test_what_is_no_mapping_of_functions_is_refused(
    model: Any, arguments: Any, options: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        cd.torch.compile(model, arguments, ["cpu"], **options)


def test_verifying_names_the_function() -> None:
    class Twice(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2 if torch.compiler.is_compiling() else x * 3

    with pytest.raises(VerificationError, match="Function `wrong`: Result 0 of the model"):
        cd.torch.compile(
            {"right": torch.nn.ReLU(), "wrong": Twice()}, (torch.ones(3),), ["cpu"], verify=True
        )
