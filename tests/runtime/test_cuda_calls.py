"""What calls on a GPU refuse and say, where that needs no GPU; tests/gpu/calls.py has the rest."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from foreign_arrays import Elsewhere, aligned

from custom_dispatch.errors import CallError, DeviceError
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES
from custom_dispatch.runtime import driver
from custom_dispatch.runtime.access import Access
from custom_dispatch.runtime.device import OpenDevice
from custom_dispatch.runtime.dlpack import ForeignArray
from custom_dispatch.runtime.incoming import place

GPU = OpenDevice("cuda", None, Access("cuda"), None, True, itertools.count())


class OnTheSecond(Elsewhere):
    def __dlpack_device__(self) -> Any:
        return (2, 1)


@pytest.mark.parametrize(
    ("array", "found", "next_step"),
    [
        (Elsewhere(aligned(8)[::2]), "The array has gaps between its elements", ".contiguous()"),
        (
            Elsewhere(aligned(8, 4)),
            "The array begins at an address that is no multiple of 16 bytes",
            "tensor.clone()",
        ),
        (
            OnTheSecond(aligned(8)),
            "The array is on cuda:1, and the program runs on cuda:0.",
            'a copy on that GPU, as tensor.to("cuda:0") makes',
        ),
    ],
    ids=["gaps", "unaligned", "another GPU"],
)
def test_an_array_that_the_gpu_cannot_take_is_refused(
    array: Elsewhere, found: str, next_step: str
) -> None:
    with pytest.raises(CallError) as caught:
        place(GPU, ForeignArray(array), ELEMENT_TYPES["f32"], "the array")
    assert found in str(caught.value)
    assert next_step in str(caught.value)


class Driver:
    """A CUDA driver whose streams have failed."""

    def cuCtxPushCurrent_v2(self, context: Any) -> int:  # noqa: N802
        return 0

    def cuCtxPopCurrent_v2(self, context: Any) -> int:  # noqa: N802
        return 0

    def cuStreamQuery(self, stream: Any) -> int:  # noqa: N802
        return 700

    def cuCtxSynchronize(self) -> int:  # noqa: N802
        return 700

    def cuGetErrorName(self, status: int, name: Any) -> int:  # noqa: N802
        name._obj.value = b"CUDA_ERROR_ILLEGAL_ADDRESS" if status == 700 else None
        return 0


def test_a_failure_of_another_librarys_work_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "cuda_library", Driver)
    said = "The GPU's work for another library has failed: CUDA_ERROR_ILLEGAL_ADDRESS."
    with pytest.raises(DeviceError, match=said) as caught:
        driver.wait_for_stream(1)
    assert "start a new process" in str(caught.value)
    for stream in (None, 12345):  # the default one, and one that may be destroyed
        monkeypatch.setattr(driver, "_given_to", {})
        driver.wait_for_users(1)  # nothing was given away
        driver.note_export(1, stream)
        driver.wait_for_users(0)  # of another GPU
        with pytest.raises(DeviceError, match=said):
            driver.wait_for_users(1)


def test_a_tensor_is_taken_from_every_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's `__dlpack__` gives tensors of its current GPU alone."""
    import torch

    class Tensor(OnTheSecond):
        device = torch.device("cuda:1")
        problem = ""

        def __dlpack__(self, **keywords: Any) -> Any:
            assert keywords == {"stream": -1}
            raise BufferError(self.problem)

    Tensor.__module__ = "torch"
    streams = {torch.device("cuda:1"): 77}
    monkeypatch.setattr(
        torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=streams[device])
    )
    monkeypatch.setattr(torch.utils.dlpack, "to_dlpack", lambda tensor: tensor.array.__dlpack__())
    given = Tensor(aligned(8))
    given.problem = "Can't export tensors that require gradient, use tensor.detach()"
    with pytest.raises(BufferError, match="require gradient"):
        ForeignArray(given)
    # As in torch/_tensor.py, after every other check of the tensor.
    text = Path(torch._tensor.__file__).read_text()
    given.problem = "Can't export tensors on a different CUDA device index. "
    assert text.index(given.problem) > text.index("layout other than torch.strided")
    read = ForeignArray(given)
    assert (read.address, read.stream) == (given.array.ctypes.data, 77)
