"""PyTorch models with kernels in them, compiled."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.errors import CallError, DeclarationError, LinkError, ModelError
from custom_dispatch.frontends.mlir import link
from custom_dispatch.frontends.torch.forms import inline_regions
from custom_dispatch.frontends.torch.importer import export_model
from custom_dispatch.ir.executable import by_path
from custom_dispatch.toolchain.library import Library
from tests.places import import_program
from tests.sample_kernels.rows import row_norm

n = cd.dim("n")


class Model(torch.nn.Module):
    """A kernel between PyTorch's own operators, with weights, and a value updated in place."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, 33))
        self.out = torch.nn.Linear(33, 17)
        self.norm = cd.torch.register(row_norm)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        z = x * y
        z.add_(1)
        return self.out(torch.relu(self.norm(z, self.weight, 1e-5)) + 1), z


class Calls(torch.nn.Module):
    """A function as a model."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: torch.Tensor) -> Any:
        return self.function(*arguments)


@torch.library.custom_op("elsewhere::simple_mul", mutates_args=())
def elsewhere(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """An operator that somebody else registered, under a kernel's name."""
    return a * b


@elsewhere.register_fake
def _(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(a)


def refusal(kind: type[Exception], model: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        cd.torch.compile(model, arguments, ["cpu"], **options)
    return re.sub(r"at \S+/(\w+\.py):\d+", r"at \1", str(caught.value))


def agrees(results: Any, expected: Any) -> None:
    for result, wanted in zip(results, expected, strict=True):
        torch.testing.assert_close(torch.from_dlpack(result), wanted)


@torch.no_grad()
@pytest.mark.parametrize("dynamic", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_a_model_runs_with_its_kernel(dynamic: bool, tmp_path: Path) -> None:
    model, x, y = Model(), torch.randn(5, 33), torch.randn(5, 33)
    rows = {0: torch.export.Dim("rows")}
    shapes = (rows, rows) if dynamic else None
    module = cd.torch.compile(model, (x, y), ["cuda:sm_80", "cpu"], dynamic_shapes=shapes)
    assert module.replaced is None  # nothing was asked for
    assert module.kernels == ("row_norm",)
    program = cd.load(module.save(tmp_path / "model.vmfb"), device="cpu")
    size = "?" if dynamic else 5
    assert str(program.main.type) == (
        f"(tensor<{size}x33xf32>, tensor<{size}x33xf32>) -> "
        f"(tensor<{size}x17xf32>, tensor<{size}x33xf32>)"
    )
    agrees(program.main(x, y), model(x, y))
    submitted = program.main.submit(x, y)  # it has `main$async`, too
    agrees(submitted.result(), model(x, y))
    assert isinstance(program.main(x.numpy(), y.numpy())[0], numpy.ndarray)
    if dynamic:
        x, y = torch.randn(9, 33), torch.randn(9, 33)
        agrees(program.main(x, y), model(x, y))


@pytest.fixture(scope="module")
def library() -> Library:
    return cd.build([simple_mul, row_norm], ["cuda:sm_80"])


def linked(model: Any, arguments: Any, library: Library, shapes: Any = None) -> str:
    module = import_program(export_model(model, arguments, shapes), "main").module
    return link(module, library, by_path).text


def test_the_checks_are_made_before_the_model_runs(library: Library) -> None:
    rows = {0: torch.export.Dim("rows")}
    x = torch.randn(5, 33)
    text = linked(Model(), (x, x.clone()), library, (rows, rows))
    assert "call @custom_dispatch_unchecked_row_norm(" in text
    assert "!torch" not in text
    assert "torch_c" not in text


def test_a_look_into_a_table_leaves_the_checks_in_front(library: Library) -> None:
    """It asserts its indices, which would keep everything before it from being dropped."""
    norm = cd.torch.register(row_norm)
    table, weight = torch.rand(9, 33), torch.rand(33)
    model = Calls(lambda i: norm(torch.nn.functional.embedding(i, table), weight, 1e-5))
    rows = {0: torch.export.Dim("rows")}
    text = linked(model, (torch.tensor([1, 2]),), library, ((rows,),))
    assert "call @custom_dispatch_unchecked_row_norm(" in text
    assert "cf.assert" in text


def test_what_iree_lacks_is_decomposed_by_pytorch(library: Library) -> None:
    multiply = cd.torch.register(simple_mul)
    model = Calls(lambda x: multiply(x, x) + torch.special.entr(x))  # no operator of the dialect
    text = linked(model, (torch.rand(8),), library)
    assert "call @custom_dispatch_unchecked_simple_mul(" in text


def test_batch_norm_in_evaluation_compiles_and_in_training_is_refused() -> None:
    multiply = cd.torch.register(simple_mul)
    norm = torch.nn.BatchNorm1d(4)

    class Normalised(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = norm

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.norm(x).flatten()
            return multiply(y, y)

    model, x = Normalised(), torch.randn(3, 4)
    assert refusal(ModelError, model, x) == (
        "The model is in training mode: it calls aten.batch_norm.default so.\n"
        "  expected: a model in evaluation\n"
        "  next step: call model.eval() first."
    )
    model.eval()
    program = cd.load(cd.torch.compile(model, (x,), ["cpu"]), device="cpu")
    agrees([program.main(x)], [model(x).detach()])


def test_numbers_and_absent_operands_reach_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "mixed.cu").write_text(
        """extern "C" __global__ void mixed(const float* x, const float* bias, unsigned add,
                                            bool negate, float scale, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = x[i] * scale + float(add >> 30) + (bias ? bias[i] : 0.5f);
  y[i] = negate ? -value : value;
}"""
    )
    kernel = cd.Kernel(
        "mixed",
        source=tmp_path / "mixed.cu",
        operands=[
            cd.In("x", "f32", [n]),
            cd.In("bias", "f32", [n], optional=True),
            cd.Scalar("add", "u32"),
            cd.Scalar("negate", "bool"),
            cd.Scalar("scale", "f32"),
            cd.Out("y", "f32", [n]),
            cd.Scalar("n", "i32", n),
        ],
        block=64,
        grid=cd.ceildiv(n, 64),
    )
    mixed = cd.torch.register(kernel)
    model = Calls(
        lambda x: (mixed(x, None, 3 << 30, True, 2.0), mixed(x, x, 1, False, 3), x.sum() > 0)
    )
    x = torch.arange(70.0)
    program = cd.load(cd.torch.compile(model, (x,), ["cpu"]), device="cpu")
    first, second, positive = map(torch.from_dlpack, program.main(x))
    assert torch.equal(first, -(2 * x + 3.5))
    assert torch.equal(second, 4 * x)
    assert positive.item() is True
    for number, found in [(1 << 32, "4294967296"), (-1, "-1")]:
        bad = Calls(lambda x, number=number: mixed(x, None, number, True, 2.0))
        assert refusal(LinkError, bad, x) == (
            f"The operator `custom_dispatch.mixed` at test_torch_compile.py has {found} for the "
            "scalar `add`.\n"
            "  expected: a number that u32 holds\n"
            "  next step: correct the number, or declare a larger type."
        )
    sized = Calls(lambda x: mixed(x, None, x.shape[0], True, 2.0))
    size = (({0: torch.export.Dim("size")},),)
    assert refusal(LinkError, sized, x, dynamic_shapes=size) == (
        "The operator `custom_dispatch.mixed` at test_torch_compile.py has !torch.int for the "
        "scalar `add`, which u32 may not hold.\n"
        "  expected: a number that is written in the model, or one of the kernel's type\n"
        '  next step: declare the scalar as "i64" for a number that the model computes.'
    )


def test_an_update_in_place_leaves_the_callers_tensor_alone() -> None:
    update = cd.torch.register(simple_mul_inplace)
    a, b = torch.randn(64), torch.randn(64)
    kept = b.clone()
    program = cd.load(cd.torch.compile(Calls(update), (a, b), ["cpu"]), device="cpu")
    agrees([program.main(a, b)], [a * b])
    assert torch.equal(b, kept)


def test_one_tensor_given_twice_is_two_arguments() -> None:
    multiply = cd.torch.register(simple_mul)
    a, b = torch.randn(8), torch.randn(8)
    program = cd.load(cd.torch.compile(Calls(multiply), (a, a), ["cpu"]), device="cpu")
    agrees([program.main(a, b)], [a * b])


def test_kernels_of_weights_alone_are_not_evaluated_by_the_compiler() -> None:
    multiply = cd.torch.register(simple_mul)
    weight = torch.arange(8.0)
    model, x = Calls(lambda x: multiply(weight, weight) + x), torch.ones(8)
    program = cd.load(cd.torch.compile(model, (x,), ["cuda:sm_80", "cpu"]), device="cpu")
    agrees([program.main(x)], [weight * weight + 1])


def test_integers_keep_their_sign() -> None:
    multiply = cd.torch.register(simple_mul)
    model = Calls(lambda x, u: (multiply(x, x), u + 100, x.to(torch.int8), x > 0, x.shape[0]))
    x, u = torch.arange(8.0), torch.arange(100, 108, dtype=torch.uint8)
    program = cd.load(cd.torch.compile(model, (x, u), ["cpu"]), device="cpu")
    found = program.main(x.numpy(), u.numpy())
    assert [str(item.dtype) for item in found[:4]] == ["float32", "uint8", "int8", "bool"]
    assert torch.from_dlpack(program.main(x, u)[1]).dtype == torch.uint8
    assert found[1].tolist() == list(range(200, 208))
    assert found[4] == 8


@torch.no_grad()
def test_pythons_operators_on_integers_and_bools_compile() -> None:
    """IREE's conversion knows them by another name than PyTorch exports them under."""
    multiply = cd.torch.register(simple_mul)

    def compute(x: torch.Tensor, m: torch.Tensor) -> tuple[torch.Tensor, ...]:
        bits = ((m & 6) | (m ^ x.int())) + (m << 1) + (m >> 1)
        bits <<= 2
        bits |= 1
        bits ^= m
        ones = m.new_ones((), dtype=torch.bool)
        chosen = ones & (m > 2) | (m == 0)
        chosen &= m < 6
        return multiply(x, x), bits, x.double().diff(), chosen

    model, x, m = Calls(compute), torch.rand(7), torch.arange(7, dtype=torch.int32)
    kept = {str(node.target) for node in export_model(model, (x, m), None).graph.nodes}
    assert "aten.to.dtype" in kept  # as patterns look for it
    assert "aten._to_copy.default" not in kept
    program = cd.load(cd.torch.compile(model, (x, m), ["cpu"]), "cpu")
    *numbers, chosen = program.main(x, m)
    agrees(tuple(numbers), model(x, m)[:3])
    assert numpy.asarray(chosen).astype(bool).tolist() == model(x, m)[3].tolist()


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.multiply = cd.torch.register(simple_mul)
        self.lstm = torch.nn.LSTM(8, 8, proj_size=4, bidirectional=True)
        self.gru = torch.nn.GRU(8, 4, bias=False, batch_first=True)
        self.rnn = torch.nn.RNN(4, 4, nonlinearity="relu")

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found, (_, cells) = self.lstm(x)
        found = self.rnn(self.gru(found)[0])[0]
        return self.multiply(found.reshape(-1), found.reshape(-1)), cells


@torch.no_grad()
def test_pytorchs_recurrent_networks_compile() -> None:
    model, x = Recurrent().eval(), torch.randn(2, 2, 8)
    weights = [id(weight) for weight in model.lstm._flat_weights]
    program = cd.load(cd.torch.compile(model, (x,), ["cpu"]), "cpu")
    assert [id(weight) for weight in model.lstm._flat_weights] == weights
    agrees(program.main(x), model(x))


@torch.no_grad()
def test_loops_until_a_number_of_the_model_compile() -> None:
    class Loop(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            loop, start = torch._higher_order_ops.while_loop, (torch.tensor(0), x)
            return loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * 2), start)[1]

    x = torch.arange(4.0)
    module = cd.torch.compile(Loop(), (x,), ["cpu"], graph="where possible")
    assert "lets the host wait" in str(module.no_graph)
    numpy.testing.assert_array_equal(cd.load(module, "cpu").main(x.numpy()), 8 * x.numpy())


def test_parts_without_gradients_are_parts_of_the_model() -> None:
    """As in the rotary embeddings of language models."""
    multiply = cd.torch.register(simple_mul)

    def compute(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            y = x + 1
            with torch.enable_grad():
                z = torch.sin(y)
        return multiply(x, z), y

    with torch.enable_grad():
        program = torch.export.export(Calls(compute), (torch.rand(7),))
    kept = str(program.graph)
    assert "wrap_with_set_grad_enabled" in kept
    x = torch.rand(7)
    agrees(cd.load(cd.torch.compile(program, (), ["cpu"]), "cpu").main(x), compute(x))
    assert str(program.graph) == kept


def test_users_that_an_export_loses_are_found_again() -> None:
    """As of ESM's last norm, whose first row is pooled by what nobody reads."""
    program = torch.export.export(Calls(lambda x: torch.sin(x) + 1), (torch.rand(7),))
    sine = next(node for node in program.graph.nodes if "sin" in str(node.target))
    sine.users.clear()
    inline_regions(program)
    assert [str(node.target) for node in sine.users] == ["aten.add.Tensor"]


def test_automatic_casts_are_refused() -> None:
    def compute(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x
        return cd.torch.register(simple_mul)(x[0], y[0].float())

    text = refusal(ModelError, Calls(compute), torch.rand(4, 4))
    assert text.startswith("The model turns automatic casts on (torch.autocast).")
    assert "model.to(torch.bfloat16)" in text


def test_an_exported_program_is_a_model() -> None:
    multiply = cd.torch.register(simple_mul)
    a, b = torch.randn(8), torch.randn(8)
    exported = torch.export.export(Calls(multiply), (a, b))
    module = cd.torch.compile(exported, (), ["cpu"], name="product")
    agrees([cd.load(module, device="cpu").product(a, b)], [a * b])


def test_an_operator_of_somebody_else_is_linked_by_its_name() -> None:
    a, b = torch.randn(8), torch.randn(8)
    module = cd.torch.compile(Calls(elsewhere), (a, b), ["cpu"], kernels=simple_mul)
    agrees([cd.load(module, device="cpu").main(a, b)], [a * b])


def test_operators_that_do_not_fit_are_refused_by_name_and_place() -> None:
    model, a = Calls(elsewhere), torch.randn(8)
    assert refusal(LinkError, model, a, a.clone(), kernels=row_norm) == (
        "The model calls the operator `elsewhere.simple_mul` at test_torch_compile.py, which IREE "
        "does not know, and no kernel has that name.\n"
        "  expected: a kernel that is given: row_norm\n"
        "  next step: give the kernel too, or write the model without the operator."
    )
    assert "expected: operators of PyTorch that IREE knows, since no kernel is given\n" in refusal(
        LinkError, model, a, a.clone()
    )
    assert refusal(LinkError, model, a.double(), a, kernels=simple_mul) == (
        "The operator `elsewhere.simple_mul` at test_torch_compile.py has tensor<8xf64> for "
        "`lhs`.\n"
        "  expected: a tensor of rank 1 and type f32: tensor<?xf32>\n"
        "  next step: correct the model, or the kernel's declaration."
    )
    assert "has tensor<2x4xf32> for `lhs`" in refusal(
        LinkError, model, a.view(2, 4), a.view(2, 4), kernels=simple_mul
    )
    assert refusal(LinkError, model, a, torch.randn(5), kernels=simple_mul) == (
        "The operator `elsewhere.simple_mul` at test_torch_compile.py does not fit: Kernel "
        "`simple_mul`: `lhs`.shape[0] and `rhs`.shape[0] disagree on dim n: 8 and 5.\n"
        "  expected: sizes that agree: lhs[n], rhs[n], product[n]\n"
        "  next step: correct the model's sizes."
    )
    doubled = simple_mul.with_launch(block=64)
    object.__setattr__(
        doubled, "operands", (*doubled.operands[:2], cd.Out("product", "f32", [2 * n]),
                              doubled.operands[3]),
    )  # fmt: skip
    assert "has a result `product` of size 8 in dimension 0.\n  expected: 2 * n = 16\n" in refusal(
        LinkError, model, a, a.clone(), kernels=doubled
    )


def test_two_kernels_of_one_name_are_refused() -> None:
    first = cd.torch.register(simple_mul)
    second = cd.torch.register(simple_mul.with_launch(block=32, grid=cd.ceildiv(n, 32)), "second")
    model = Calls(lambda x: first(x, second(x, x)))
    source = f"a kernel of {simple_mul.source}"
    assert refusal(DeclarationError, model, torch.ones(8)) == (
        f"Two different kernels are named `simple_mul`: {source} and {source}.\n"
        "  expected: a name for each: a module tells kernels by their names\n"
        '  next step: rename one: kernel.with_launch(name="another"), or '
        'cd.Choice("another", ...), and call it by that name.'
    )


@torch.no_grad()
def test_two_kernels_of_one_name_are_put_into_a_model(tmp_path: Path) -> None:
    """As of two packages that know nothing of each other."""
    n = cd.dim("n")
    patterns = []
    for what, function in (("+ 1", lambda x: x + 1), ("* 2", lambda x: x * 2)):
        source = tmp_path / f"{len(patterns)}.cu"
        source.write_text(
            'extern "C" __global__ void act(const float* x, float* y, int n) {\n'
            f"  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] {what};\n}}\n"
        )
        operands = [cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("n", "i32", n)]
        kernel = cd.Kernel("act", source=source, operands=operands, block=32, grid=1)
        patterns.append(cd.torch.Pattern(kernel, computes=function))
    model, x = Calls(lambda x: torch.sin(x + 1) * 2), torch.randn(8)
    module = cd.torch.compile(model, (x,), ["cpu"], replace=patterns)
    assert [item.kernel for item in module.replaced] == ["act", "act_2"]
    called = cd.torch.register(patterns[1].kernel, "another_package")
    calls = Calls(lambda x: called(torch.sin(x + 1)))
    module = cd.torch.compile(calls, (x,), ["cpu"], replace=patterns[:1])
    assert set(module.kernels) == {"act", "act_2"}
    agrees([cd.load(module, "cpu").main(x)], [model(x)])
    agrees([cd.load(module, "cpu").main(x)], [model(x)])


@torch.no_grad()
def test_tensors_that_pytorch_negates_when_they_are_read_have_those_values() -> None:
    multiply = cd.torch.register(simple_mul)

    def negated(count: int) -> torch.Tensor:
        found = torch._neg_view(torch.arange(float(count)))
        assert found.is_neg()
        return found

    class Negated(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("state", negated(8))
            self.weight = torch.nn.Parameter(negated(8))
            self.constant = negated(8)
            self.large = negated(2000)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            self.state.add_(1)
            product = multiply(x, self.weight)
            return product, x + self.constant, self.large + 1, self.state

    model, x = Negated(), torch.rand(8)
    torch.testing.assert_close(multiply(negated(8), x), negated(8) * x)
    program = cd.load(cd.torch.compile(model, (x,), ["cpu"]), "cpu")
    assert model.state.is_neg()
    for _ in range(2):
        agrees(program.main(x), model(x))
    imaginary = torch.complex(torch.zeros(8), x).conj().imag
    for calls in (lambda: simple_mul(imaginary, x), lambda: simple_mul(x, x, out=imaginary)):
        with pytest.raises(CallError) as caught:
            calls()
        assert "PyTorch negates its elements when they are read" in str(caught.value)


def test_models_that_cannot_be_compiled_are_refused() -> None:
    multiply = cd.torch.register(simple_mul)
    x = torch.randn(8)
    assert refusal(ModelError, 3, x) == (
        "The model is 3.\n"
        "  expected: a torch.nn.Module, a method of one, or what torch.export.export returns\n"
        "  next step: put a function into the `forward` of a module."
    )
    with pytest.raises(ModelError) as caught:
        cd.torch.compile(Calls(torch.relu), x, ["cpu"])
    assert str(caught.value).endswith(
        "expected: a tuple of them, one for each of a call\n  next step: write (x,) for one."
    )
    assert "is in training mode: it calls aten.dropout.default" in refusal(
        ModelError, Calls(lambda x: torch.dropout(multiply(x, x), 0.5, True)), x
    )
    message = refusal(ModelError, Calls(lambda x: multiply(x, x[: int(x[0])])), x)
    assert message.startswith(
        "Sizes or branches of the model depend on its data at test_torch_compile"
    )


def test_an_exported_program_of_the_users_stays_as_it_was() -> None:
    multiply = cd.torch.register(simple_mul)

    def function(x: torch.Tensor, i: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = multiply(x.view(-1), x.view(-1)).view(2, 6)
        return y + torch.diff(x, prepend=x[..., :1]), (i & 3) & i

    given = torch.randn(2, 6), torch.arange(8)
    program = torch.export.export(Calls(function), given)
    before = [str(node.target) for node in program.graph.nodes]
    module = cd.torch.compile(program, (), ["cpu"])
    assert [str(node.target) for node in program.graph.nodes] == before
    agrees(cd.load(module, device="cpu").main(*given), program.module()(*given))
