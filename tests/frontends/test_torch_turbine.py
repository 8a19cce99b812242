"""Modules that iree-turbine exports are models, too; it is not needed, as its text is kept here."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from iree import runtime as rt

import custom_dispatch as cd
from custom_dispatch.errors import DeviceError
from tests.sample_kernels.rows import row_norm

EXPORTED = Path(__file__).parent / "turbine.mlir"


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.linspace(0.5, 1.5, 8))
        self.out = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normalised = torch.nn.functional.rms_norm(x, (8,), self.scale, 1e-5)
        return self.out(normalised.relu())


@torch.no_grad()
def test_a_module_of_iree_turbine_is_linked_and_takes_its_weights(tmp_path: Path) -> None:
    model = Model()
    index = rt.ParameterIndex()
    for name, value in model.state_dict().items():
        rt.parameter_index_add_numpy_ndarray(index, name, value.numpy())
    weights = tmp_path / "weights.irpa"
    index.create_archive_file(str(weights))
    module = cd.compile(
        EXPORTED, [row_norm.with_launch(name="rms_norm_f32")], ["cuda:sm_80", "cpu"]
    )
    path = module.save(tmp_path / "model.vmfb")
    x = torch.randn(5, 8)
    for given in (weights, {"model": weights}):
        program = cd.load(path, device="cpu", parameters=given)
        assert str(program.main.type) == "(tensor<?x8xf32>) -> (tensor<?x4xf32>)"
        torch.testing.assert_close(torch.from_dlpack(program.main(x)), model(x))
    with pytest.raises(DeviceError) as caught:
        cd.load(path, device="cpu")
    assert str(caught.value).startswith(
        "`model.vmfb` needs weights (IREE's parameters) that it was not given.\n"
        "  expected: a file for each scope that it names\n"
        '  next step: give them: cd.load(..., parameters="file.irpa"), or {"scope": "file.irpa"}; '
        "IREE says:\n"
    )
