"""Models whose only hand-written parts are functions, compiled for GPUs that are not NVIDIA's."""

from pathlib import Path

import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import CustomDispatchError, DeclarationError, DeviceError, ModelError
from tests.functions.conformance import model_of
from tests.functions.functions import EXACT, my_gelu

TARGETS = [
    "vulkan",
    pytest.param("rocm:gfx942", marks=pytest.mark.thorough),
    "metal",
    pytest.param("vulkan:rdna3", marks=pytest.mark.thorough),
]


@pytest.mark.parametrize("target", TARGETS)
def test_a_model_with_a_function_compiles(target: str, tmp_path: Path) -> None:
    compiled = cd.compile(model_of([my_gelu]), [my_gelu], [target])
    assert list(map(str, compiled.targets)) == [target]
    with pytest.raises(DeviceError) as refusal:
        cd.load(compiled.save(tmp_path / "model.vmfb"))
    assert target in str(refusal.value)


def test_f64_is_refused_where_there_is_none() -> None:
    doubles = next(function for function in EXACT if function.name == "doubles")
    with pytest.raises(ModelError) as refusal:
        cd.compile(model_of([doubles]), [doubles], ["metal"])
    said = str(refusal.value)
    assert "The model's function `doubles` computes with f64, and the target is metal." in said
    assert "f32 and smaller types: IREE's code for it has no f64" in said


def test_kernels_and_other_targets_are_refused() -> None:
    def refusal(kernels: object, targets: list[str]) -> str:
        with pytest.raises(CustomDispatchError) as found:
            cd.compile(model_of([my_gelu]), kernels, targets)  # type: ignore[arg-type]
        assert isinstance(found.value, DeclarationError)
        return str(found.value)

    said = refusal([my_gelu, simple_mul], ["vulkan"])
    assert "Kernel `simple_mul` is given for the target vulkan." in said
    assert "declare what it computes as a cd.Function" in said
    said = refusal([my_gelu], ["vulkan", "cpu"])
    assert "The target vulkan is given with others: vulkan, cpu." in said
    assert "without kernels rocm:gfx942, vulkan or metal" in refusal([my_gelu], ["opencl"])
