"""Kernels put wherever an unchanged model computes what they do, and nowhere else."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import DeclarationError, LinkError, ReplacementWarning
from custom_dispatch.replaced import Replaced, near_miss_lines
from tests.places import replaced_in_torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from replace_cases import ALL, NEAR, NORM, POSITIVE, RELU, Case, Cases, inputs
from sample_kernels.patterns import squared_relu


@torch.no_grad()
def run(module: cd.CompiledModule, model: Cases, given: dict[str, torch.Tensor]) -> None:
    """Compare every case's results with PyTorch's."""
    found = cd.load(module, device="cpu").main(*given.values())
    expected = torch.utils._pytree.tree_leaves(model(given))
    names = [
        name
        for name, case in model.cases.items()
        for _ in torch.utils._pytree.tree_leaves(case(given))
    ]
    for name, result, wanted in zip(names, found, expected, strict=True):
        tolerance = 2e-2 if wanted.dtype == torch.float16 else 2e-5
        torch.testing.assert_close(
            torch.from_dlpack(result),
            wanted,
            rtol=tolerance,
            atol=tolerance,
            msg=lambda m, n=name: f"{n}: {m}",
        )


def dynamic(given: dict[str, torch.Tensor]) -> Any:
    rows, images = torch.export.Dim("rows", min=2), torch.export.Dim("images", min=2)
    first = {0: rows}
    shapes: dict[str, Any] = dict.fromkeys(given)
    shapes |= {"rows": first, "more": first, "half": first}
    shapes |= {"q": {0: images, 2: rows}, "k": {0: images}, "v": {0: images}}
    shapes |= {"cosine": {0: images, 1: rows}, "sine": {0: images, 1: rows}}
    return (shapes,)


def check_found(report: Replaced) -> None:
    found = {
        item.place.module.removeprefix("cases.").removesuffix(".inner"): item.kernel
        for item in report
    }
    assert found == {name: kernel for name, (kernel, _) in POSITIVE.items()}
    scalars = {item.place.module.removeprefix("cases."): item.scalars for item in report}
    assert scalars["another_epsilon"] == {"epsilon": 0.5}
    assert scalars["rank_3"] == {"scale": -0.5}
    assert scalars["causal"] == {"scale": 0.25, "causal": True}


def test_every_place_that_computes_it_is_replaced() -> None:
    model = Cases({name: case for name, (_, case) in POSITIVE.items()}).eval()
    given = inputs()
    check_found(replaced(model, (given,), ALL))  # of sizes that are known
    module = cd.torch.compile(model, (given,), ["cpu"], replace=ALL, dynamic_shapes=dynamic(given))
    check_found(module.replaced)
    run(module, model, given)
    longer = {
        name: torch.cat([value] * 2) if name in ("rows", "more", "half") else value
        for name, value in given.items()
    }
    for name in ("q", "cosine", "sine"):
        longer[name] = torch.cat([given[name]] * 2, dim=-2)
    run(module, model, longer)


def test_no_place_that_only_looks_alike_is_replaced() -> None:
    cases = {name: case for name, (_, case) in NEAR.items()}
    model = Cases({**cases, "control": POSITIVE["as_written"][1]}).eval()
    items = [cd.torch.Pattern(p.kernel, p.computes, fixed=p.fixed, required=False) for p in ALL]
    report = replaced(model, (inputs(),), items)
    assert [item.place.module for item in report] == ["cases.control"]
    reasons: dict[str, list[str]] = {}
    for miss in report.near_misses:
        name = miss.place.module.removeprefix("cases.").removesuffix(".inner")
        reasons.setdefault(name, []).append(miss.reason)
    unsaid = {
        name: reasons.get(name)
        for name, (reason, _) in NEAR.items()
        if not any(reason in said for said in reasons.get(name, [""]))
    }
    assert unsaid == {}


# -- what is chosen, and what is said


def replaced(model: Any, arguments: Any, items: Any) -> Any:
    return replaced_in_torch(model, arguments, items)


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.RMSNorm(8, eps=1e-5)
        self.last = torch.nn.RMSNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.relu(self.norm(x)).square() * 0.5)


def test_classes_of_operations_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """IREE has none for PyTorch's, and would look again for each operation that is touched."""
    looked_for: list[str] = []

    class Finder:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            looked_for.append(name)

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    replaced(Block(), (torch.ones(3, 8),), [NORM])
    assert looked_for.count("iree.compiler.dialects.torch") <= 1


def test_what_was_replaced_is_data_and_a_table() -> None:
    report = replaced(Block(), (torch.ones(3, 8),), [NORM, RELU[1]])
    here = Path(__file__)
    lines = here.read_text().splitlines()
    line = next(i for i, text in enumerate(lines, 1) if "return self.last(" in text)
    assert [(item.kernel, item.place.module, item.place.source) for item in report] == [
        ("row_norm", "norm", f"{here}:{line}"),
        ("squared_relu_2", "", f"{here}:{line}"),
    ]
    assert report.of("squared_relu_2")[0].operations == (
        "torch.aten.relu", "torch.aten.square", "torch.aten.mul.Scalar",
    )  # fmt: skip
    assert len(report) == 2
    assert re.sub(r" +", " ", str(report).replace(f"{here}:{line}", "HERE")) == (
        "replaced by in at with\n"
        "row_norm norm HERE epsilon=1e-05\n"
        "squared_relu_2 - HERE scale=0.5\n"
        "\n"
        "not replaced by in at because\n"
        "row_norm last HERE `eps` of torch.aten.rms_norm is none, where the pattern has a "
        "number for `epsilon`\n"
        "\n"
        "1 of 1 norm stays with IREE: tensor<3x8xf32>"
    )
    from rich.console import Console

    console = Console(width=200)
    with console.capture() as captured:
        console.print(report)
    assert "squared_relu_2" in captured.get()
    assert "Near misses" in captured.get()


def test_a_place_names_its_nearest_kernel_and_places_alike_are_said_once() -> None:
    def scaled(x: torch.Tensor, scale: float) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, x.shape[-1:], None, 1e-5) * scale

    norm = cd.torch.Pattern(NORM.kernel, NORM.computes, required=False)
    nearer = cd.torch.Pattern(squared_relu(2), scaled, required=False)

    class Scaled(torch.nn.RMSNorm):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x) * 2.0

    model = torch.nn.Sequential(*(Scaled(8, elementwise_affine=False) for _ in range(3)))
    report = replaced(model, (torch.ones(3, 8),), [norm, nearer])
    assert [(miss.kernel, miss.place.module) for miss in report.near_misses] == [
        ("squared_relu_2", "0"),
        ("squared_relu_2", "1"),
        ("squared_relu_2", "2"),
    ]
    rows = [line.split()[:4] for line in near_miss_lines(report.near_misses)]
    assert rows == [["not", "replaced", "by", "in"], ["squared_relu_2", "0", "and", "2"]]


def test_one_kernel_has_several_functions_and_operands_that_may_be_absent(tmp_path: Path) -> None:
    (tmp_path / "biased.cu").write_text(
        """extern "C" __global__ void biased(const float* x, const float* bias, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = tanhf(bias ? x[i] + bias[i] : x[i]);
}"""
    )
    n = cd.dim("n")
    kernel = cd.Kernel(
        "biased",
        source=tmp_path / "biased.cu",
        operands=[
            cd.In("x", "f32", [n]),
            cd.In("bias", "f32", [n], optional=True),
            cd.Out("y", "f32", [n]),
            cd.Scalar("n", "i32", n),
        ],
        block=64,
        grid=cd.ceildiv(n, 64),
    )
    pattern = cd.torch.Pattern(
        kernel, lambda x, bias=None: torch.tanh(x if bias is None else x + bias)
    )
    model = Case(lambda x, y: (torch.tanh(x), torch.tanh(x + y), torch.tanh(x + 1)), "x", "y")
    x, y = torch.randn(40), torch.randn(40)
    module = cd.torch.compile(model, ({"x": x, "y": y},), ["cpu"], replace=pattern)
    assert len(module.replaced) == 3
    found = cd.load(module, device="cpu").main(x, y)
    for result, wanted in zip(found, model({"x": x, "y": y}), strict=True):
        torch.testing.assert_close(torch.from_dlpack(result), wanted, rtol=1e-5, atol=1e-5)


def test_a_reference_in_pytorchs_words_is_a_pattern_and_updates_in_place_are_kept() -> None:
    kernel = cd.Kernel(
        "twice",
        source=Path(cd.__file__).parents[1] / "cuda_kernels/simple_mul.cu",
        entry="simple_mul",
        operands=simple_mul.operands,
        block=64,
        grid=simple_mul.grid,
        reference=lambda lhs, rhs: lhs * rhs,
    )

    class Updated(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            product = x * y
            total = product + 1
            product.add_(total)
            return product, x * product

    x, y = torch.randn(8), torch.randn(8)
    exported = torch.export.export(Updated(), (x, y))
    before = str(exported.graph)
    module = cd.torch.compile(exported, (), ["cpu"], replace=[kernel])
    assert str(exported.graph) == before
    assert len(module.replaced) == 2
    found = cd.load(module, device="cpu").main(x, y)
    for result, wanted in zip(found, Updated()(x, y), strict=True):
        torch.testing.assert_close(torch.from_dlpack(result), wanted)


COMPUTED = "has a function that computes with `scale` before it uses the number"


def refusal(kind: type[Exception], call: Callable[[], Any]) -> str:
    with pytest.raises(kind) as caught:
        call()
    return re.sub(r" {2,}(?=\S)", "  ", re.sub(r"\S*/(\w+\.py):\d+", r"\1", str(caught.value)))


def test_a_pattern_that_is_nowhere_is_an_error_that_says_what_nearly_was() -> None:
    given = (torch.ones(3, 8),)
    assert refusal(LinkError, lambda: replaced(torch.nn.RMSNorm(8), given, NORM)) == (
        "No place in the model computes what kernel `row_norm` replaces.\n"
        "  expected: at least one, since its pattern is required\n"
        "  next step: correct the pattern where the model differs, or let it be missing: "
        "cd.torch.Pattern(kernel, ..., required=False).\n"
        "not replaced by  in  at  because\n"
        "row_norm  -  -  `eps` of torch.aten.rms_norm is none, where the pattern has a "
        "number for `epsilon`"
    )
    assert refusal(LinkError, lambda: replaced(torch.nn.Tanh(), given, NORM)) == (
        "No place in the model computes what kernel `row_norm` replaces.\n"
        "  expected: at least one, since its pattern is required\n"
        "  next step: correct the pattern where the model differs, or let it be missing: "
        "cd.torch.Pattern(kernel, ..., required=False).\n"
        "not replaced by  in  at  because\n"
        "row_norm  -  -  the model has no torch.aten.rms_norm"
    )
    narrow = torch.nn.RMSNorm(8, 1e-5).half()
    with pytest.raises(LinkError, match="gives tensor<3x8xf16>, and in the pattern tensor<"):
        replaced(narrow, (torch.ones(3, 8, dtype=torch.float16),), NORM)
    optional = cd.torch.Pattern(NORM.kernel, NORM.computes, required=False)
    model = torch.nn.RMSNorm(8)
    with pytest.warns(ReplacementWarning) as warned:
        module = cd.torch.compile(model, given, ["cpu"], replace=optional)
    said = [" ".join(line.split()) for line in str(warned[0].message).splitlines()]
    assert said == [
        "No pattern is found in the model. These places nearly match:",
        "not replaced by in at because",
        "row_norm - - `eps` of torch.aten.rms_norm is none, where the pattern has a number for "
        "`epsilon`",
        "1 of 1 norm stays with IREE: tensor<3x8xf32>",
    ]
    assert warned[0].filename == __file__
    torch.testing.assert_close(
        torch.from_dlpack(cd.load(module, "cpu").main(*given)), model(*given)
    )


def test_patterns_that_are_none_are_refused() -> None:
    pattern = cd.torch.Pattern
    relu = squared_relu(2)
    given = (torch.ones(3, 8),)
    assert refusal(DeclarationError, lambda: pattern(3)).startswith("A pattern is given 3.\n")
    assert refusal(DeclarationError, lambda: pattern(relu)).startswith(
        "The pattern of kernel `squared_relu_2` has no function of PyTorch.\n"
    )
    assert refusal(DeclarationError, lambda: pattern(relu, lambda x, size: x)) == (
        "The pattern of kernel `squared_relu_2` has a parameter `size`.\n"
        "  expected: the kernel's: x, scale\n"
        "  next step: correct the pattern."
    )
    assert refusal(DeclarationError, lambda: pattern(relu, torch.relu)).startswith(
        "The pattern of kernel `squared_relu_2` is a function without a signature.\n"
    )
    assert refusal(DeclarationError, lambda: pattern(relu, lambda x: x)) == (
        "The pattern of kernel `squared_relu_2` has no parameter `scale`.\n"
        "  expected: the kernel's: x, scale\n"
        "  next step: name the function's parameters like the kernel's operands, or fix the "
        'scalar: fixed={"scale": ...}.'
    )
    assert refusal(DeclarationError, lambda: pattern(relu, lambda x: x, fixed={"x": 3})) == (
        "The pattern of kernel `squared_relu_2` fixes `x`.\n"
        "  expected: a value-less scalar of the kernel: scale\n"
        "  next step: correct the pattern."
    )
    assert "has a parameter `scale`, which is fixed." in refusal(
        DeclarationError, lambda: pattern(relu, lambda x, scale: x, fixed={"scale": 3})
    )
    for function, found in [
        (lambda x, scale: torch.relu(x), "has a function that does not use `scale`"),
        (lambda x, scale: x * (2 * scale), COMPUTED),
        (lambda x, scale: (x * scale, x), "has a function of 2 results"),
        (lambda x, scale: (x * scale).double(), "has tensor<?x?xf64> for `y`"),
        (lambda x, scale: x * scale if scale > 0.5 else x + scale,
         COMPUTED),
        (lambda x, scale: x.numpy() * scale, "has a function that PyTorch cannot trace"),
    ]:  # fmt: skip
        message = refusal(
            DeclarationError,
            lambda function=function: replaced(torch.nn.ReLU(), given, [pattern(relu, function)]),
        )
        assert message.startswith(f"The pattern of kernel `squared_relu_2` {found}"), message
    assert refusal(DeclarationError, lambda: replaced(torch.nn.ReLU(), given, [3])) == (
        "replace has 3 in it.\n"
        "  expected: a cd.torch.Pattern, or a cd.Kernel whose reference is code of PyTorch\n"
        "  next step: write replace=[cd.torch.Pattern(kernel, computes=...)]."
    )
    assert refusal(DeclarationError, lambda: replaced(torch.nn.ReLU(), given, [relu])).startswith(
        "Kernel `squared_relu_2` has no reference, so nothing says what it replaces.\n"
    )
    assert "has a function that PyTorch cannot trace" in refusal(
        DeclarationError, lambda: replaced(torch.nn.ReLU(), (torch.ones(8),), [simple_mul])
    )


def test_what_a_kernel_requires_has_to_be_known_and_a_choice_decides_later() -> None:
    width = cd.dim("width")

    def squared(name: str, requires: Any = ()) -> cd.Kernel:
        return cd.Kernel(
            name,
            source=Path(__file__).parents[1] / "sample_kernels/patterns.cu",
            entry="squared_relu",
            operands=[
                cd.In("x", "f32", [width]),
                cd.Scalar("scale", "f32"),
                cd.Out("y", "f32", [width]),
                cd.Scalar("count", "i32", width),
            ],
            block=64,
            grid=cd.ceildiv(width, 64),
            requires=requires,
        )

    def computes(x: torch.Tensor, scale: float) -> torch.Tensor:
        return torch.relu(x).square() * scale

    fours = squared("squared_fours", [width % 4 == 0])
    pattern = cd.torch.Pattern(fours, computes, required=False)
    model = Case(lambda x: torch.relu(x).square() * 2, "x")

    def found(item: Any, size: int, dim: Any = None) -> Any:
        shapes = None if dim is None else ({"x": {0: dim}},)
        return replaced_in_torch(model, ({"x": torch.ones(size)},), item, shapes)

    assert len(found(pattern, 8)) == 1
    assert found(pattern, 6).near_misses[0].reason == (
        "the place does not fit: Kernel `squared_fours` requires width % 4 == 0, which does not "
        "hold for width = 6"
    )
    assert len(found(pattern, 8, torch.export.Dim("n"))) == 0
    assert len(found(pattern, 8, 4 * torch.export.Dim("n"))) == 1
    choice = cd.Choice("squared_any", [fours, squared("squared_all")])
    both = cd.torch.Pattern(choice, computes)
    x = torch.randn(16)
    module = cd.torch.compile(
        model,
        ({"x": x},),
        ["cpu"],
        replace=[both],
        dynamic_shapes=({"x": {0: torch.export.Dim("n")}},),
    )
    assert [item.kernel for item in module.replaced] == ["squared_any"]
    program = cd.load(module, device="cpu")
    for size in (16, 7):
        torch.testing.assert_close(
            torch.from_dlpack(program.main(x[:size].clone())), computes(x[:size], 2.0)
        )


def test_a_kernel_may_give_another_layout_than_what_it_replaces() -> None:
    """PyTorch's views were traced with the old one; `diff` has the model traced again."""

    class Turned(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            turned = x.view(2, 6, 4, 16).transpose(1, 2)
            y = (torch.relu(turned).square() * 0.5).transpose(1, 2).view(2, 6, 64)
            return y + torch.diff(x, prepend=x[..., :1])

    module = cd.torch.compile(Turned(), (torch.randn(2, 6, 64),), ["cpu"], replace=RELU[3:])
    x = torch.randn(2, 6, 64)
    found = torch.from_dlpack(cd.load(module, device="cpu").main(x))
    torch.testing.assert_close(found, Turned()(x))
