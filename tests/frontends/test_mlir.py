"""Linking kernels into MLIR models."""

from __future__ import annotations

import re
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

import numpy as np
import pytest
from iree.compiler import ir

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.errors import LinkError, ModelError
from custom_dispatch.frontends.mlir import link
from custom_dispatch.ir.executable import by_path
from custom_dispatch.link.model import describe_model, parse_model
from custom_dispatch.toolchain.library import Library

MODELS = Path(__file__).resolve().parents[2] / "mlir"
DECLARED = "func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>"


@pytest.fixture(scope="module")
def library() -> Library:
    return cd.build([simple_mul, simple_mul_inplace], ["cuda:sm_80", "cuda:sm_90"])


def model(declaration: str = DECLARED, body: str | None = None, attributes: str = "") -> str:
    """A model that declares `simple_mul` in some way and calls it once."""
    types = declaration[declaration.index("(") :]
    inputs, _, result = types.partition(" -> ")
    kinds = inputs.strip("()").split(", ")
    parameters = ", ".join(f"%a{index}: {kind}" for index, kind in enumerate(kinds))
    values = ", ".join(f"%a{index}" for index in range(len(kinds)))
    return f"""module {attributes} {{
  {declaration}
  func.func @main({parameters}) -> {result} {{
    {body or f"%0 = call @simple_mul({values}) : {types}"}
    return %0 : {result}
  }}
}}"""


def text_of(source: str | Path, library: Library) -> str:
    return link(source, library, by_path).text


def refusal(source: str | Path, library: Library, kind: type[Exception] = LinkError) -> str:
    with pytest.raises(kind) as caught:
        link(source, library, by_path)
    return str(caught.value)


def test_the_declaration_gets_a_body_and_the_executable_stands_beside_it(library: Library) -> None:
    text = text_of(model(), library)
    assert "hal.executable private @custom_dispatch_simple_mul" in text
    assert "flow.dispatch {@custom_dispatch_simple_mul::@sm_90::@simple_mul, " in text
    assert text.count("func.func private @simple_mul(") == 1


def test_a_parsed_module_stays_as_it_is(library: Library) -> None:
    with ir.Context():
        module = ir.Module.parse(model())
        before = str(module)
        text = text_of(module, library)
        assert str(module) == before
    assert "flow.dispatch" in text


def test_kernels_that_the_model_does_not_call_are_left_out(library: Library) -> None:
    assert "simple_mul_inplace" not in text_of(model(), library).replace(
        "custom_dispatch_simple_mul", ""
    )


def test_a_model_may_use_the_util_dialect(library: Library) -> None:
    source = """
      util.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      util.func public @main(%a: tensor<?xf32>) -> tensor<?xf32> {
        %0 = util.call @simple_mul(%a, %a) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
        util.return %0 : tensor<?xf32>
      }"""
    program = cd.load(cd.compile(source, [simple_mul], ["cpu"]))
    three = np.full(5, 3, np.float32)
    np.testing.assert_array_equal(program.main(three), np.full(5, 9, np.float32))


def test_static_shapes_need_no_branch(library: Library) -> None:
    declared = DECLARED.replace("?", "64")
    text = text_of(model(declared), library)
    wrapper = text[text.index("func.func private @simple_mul(") :]
    assert "scf.if" not in wrapper
    assert "tensor<64xf32>" in wrapper


@pytest.mark.parametrize(
    ("declaration", "found", "expected"),
    [
        (
            "func.func private @simple_mul(tensor<?xf64>, tensor<?xf32>) -> tensor<?xf32>",
            "declaration of `simple_mul` has tensor<?xf64> for `lhs`",
            "a tensor of rank 1 and type f32",
        ),
        (
            "func.func private @simple_mul(tensor<?xf32>, tensor<?x?xf32>) -> tensor<?xf32>",
            "declaration of `simple_mul` has tensor<?x?xf32> for `rhs`",
            "a tensor of rank 1 and type f32",
        ),
        (
            "func.func private @simple_mul(tensor<?xf32>) -> tensor<?xf32>",
            "declaration of `simple_mul` has 1 operands and 1 results",
            "2 and 1: @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>",
        ),
        (
            "func.func private @simple_mul(tensor<8xf32>, tensor<9xf32>) -> tensor<8xf32>",
            "`lhs`.shape[0] and `rhs`.shape[0] disagree on dim n: 8 and 9.",
            "sizes that agree: lhs[n], rhs[n], product[n]",
        ),
        (
            "func.func private @simple_mul(tensor<8xf32>, tensor<8xf32>) -> tensor<9xf32>",
            "`lhs`.shape[0] and `product`.shape[0] disagree on dim n: 8 and 9.",
            "sizes that agree: lhs[n], rhs[n], product[n]",
        ),
        (
            "func.func private @simple_mul(tensor<4294967296xf32>, tensor<4294967296xf32>)"
            " -> tensor<4294967296xf32>",
            "scalar `count` = n does not fit i32: it is 4294967296 for the model's sizes",
            "at most 2147483647",
        ),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused(
    library: Library, declaration: str, found: str, expected: str
) -> None:
    message = refusal(model(declaration), library)
    assert found in message
    assert f"expected: {expected}" in message
    assert "next step: " in message


def test_an_in_place_buffer_has_one_type(library: Library) -> None:
    source = """
      func.func private @simple_mul_inplace(tensor<?xf32>, tensor<8xf32>) -> tensor<?xf32>
      func.func @main(%a: tensor<?xf32>, %b: tensor<8xf32>) -> tensor<?xf32> {
        %0 = call @simple_mul_inplace(%a, %b) : (tensor<?xf32>, tensor<8xf32>) -> tensor<?xf32>
        return %0 : tensor<?xf32>
      }"""
    message = refusal(source, library)
    assert "the type tensor<8xf32> going in and tensor<?xf32> coming out" in message


def test_a_function_with_a_body_is_not_replaced(library: Library) -> None:
    source = """
      func.func @simple_mul(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
        return %a : tensor<?xf32>
      }"""
    assert "defines a function `simple_mul` with a body" in refusal(source, library)


def test_a_declaration_without_a_kernel_is_refused(library: Library) -> None:
    source = f"""
      func.func private @simple_mull(tensor<?xf32>) -> tensor<?xf32>
      {DECLARED}"""
    message = refusal(source, library)
    assert "declares `simple_mull` without a body, and no kernel has that name" in message
    assert "expected: a kernel that is given: simple_mul, simple_mul_inplace" in message


def test_a_model_that_calls_no_kernel_is_refused(library: Library) -> None:
    message = refusal("func.func @main() { return }", library)
    assert "calls none of the kernels: simple_mul, simple_mul_inplace" in message
    assert DECLARED in message


def test_a_model_with_device_targets_of_its_own_is_refused(library: Library) -> None:
    attributes = 'attributes {hal.device.targets = [#hal.device.alias<"cuda"> : !hal.device]}'
    message = refusal(model(attributes=attributes), library)
    assert "attribute `hal.device.targets`, which overrides the targets asked for" in message


def test_linking_twice_is_refused(library: Library) -> None:
    linked = text_of(model(), library)
    again = linked.replace("func.func private @simple_mul(", "func.func private @other(").replace(
        "call @simple_mul(", "call @other("
    )
    source = again.rstrip().removesuffix("}") + f"  {DECLARED}\n}}"
    assert "already has a symbol `custom_dispatch_simple_mul`" in refusal(source, library)


def test_invalid_mlir_shows_the_parsers_message_with_its_place(library: Library) -> None:
    message = refusal("func.func @main( {", library, ModelError)
    assert message.startswith("The model is not valid MLIR.")
    assert re.search(r'error: "-":1:\d+: ', message)


def test_invalid_mlir_in_a_file_is_shown_with_the_files_name(
    library: Library, tmp_path: Path
) -> None:
    path = tmp_path / "model.mlir"
    path.write_text("func.func @main() {\n  nothing\n}")
    message = refusal(path, library, ModelError)
    assert message.startswith(f"`{path}` is not valid MLIR.")
    assert f'error: "{path}":2:3: ' in message


def test_a_missing_model_is_named(library: Library, tmp_path: Path) -> None:
    message = refusal(tmp_path / "nothing.mlir", library, ModelError)
    assert f"`{tmp_path / 'nothing.mlir'}` does not exist" in message


def test_a_file_that_is_no_mlir_is_refused(library: Library, tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_bytes(b"\xff\xfe\x00PK")
    assert "neither MLIR text nor MLIR bytecode" in refusal(path, library, ModelError)


def test_variants_stand_best_first_and_guarded() -> None:
    targets = ["cuda:sm_80", "cuda:sm_90a", "cuda:sm_100f", "cuda:sm_90"]
    text = text_of(model(), cd.build([simple_mul], targets))
    assert re.findall(r"hal.executable.variant public @(\w+)", text) == [
        "sm_100f",
        "sm_90a",
        "sm_90",
        "sm_80",
    ]
    conditions = re.findall(r"arith.cmpi (\w+), %\w+, %c(\d+)_i32", text)
    assert conditions == [
        ("sge", "100"),
        ("slt", "110"),
        ("eq", "90"),
        ("sge", "90"),
        ("sge", "80"),
    ]


def test_a_model_is_described_by_its_functions() -> None:
    assert describe_model(MODELS / "mixed_invocation.mlir") == [
        ("simple_mul", "(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>", "to be linked"),
        ("simple_mul_inplace", "(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>", "to be linked"),
        ("mixed_invocation", "(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>", "public"),
    ]


def test_what_is_not_there_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bindings import a dialect's Python classes, each time anew where there are none."""
    module = parse_model(
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = chlo.tan %a : tensor<4xf32> -> tensor<4xf32>\n"
        "  %1 = stablehlo.add %0, %0 : tensor<4xf32>\n"
        "  %2 = stablehlo.add %1, %0 : tensor<4xf32>\n"
        "  %p = ub.poison : tensor<4xf32>\n"
        "  %3 = stablehlo.add %2, %p : tensor<4xf32>\n"
        "  return %3 : tensor<4xf32>\n"
        "}"
    )
    asked: list[str] = []

    class Asked(MetaPathFinder):
        def find_spec(self, name: str, *_: object) -> None:
            asked.append(name)

    def touch() -> None:
        for op in module.body.operations[0].regions[0].blocks[0].operations:
            assert all(value.owner is not None for value in op.operands)

    touch()
    monkeypatch.setattr(sys, "meta_path", [Asked(), *sys.meta_path])
    touch()
    assert asked == []
