"""Calls with arrays of other libraries on a GPU: what is copied, what is refused, in what order.

Run with the modules that `build.py` made, where there is a GPU, PyTorch and CuPy:

    python tests/gpu/calls.py DIRECTORY
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from custom_dispatch.errors import CallError
from gpu.each import run_each

N = 100_003


def _tensors(torch: Any, count: int = 2, n: int = N) -> list[Any]:
    return [torch.rand(n, device="cuda") + 0.5 for _ in range(count)]


def tensors_are_not_copied(program: Any, torch: Any, cupy: Any) -> None:
    a, b = _tensors(torch)
    result = program.simple_mul(a, b)
    assert isinstance(result, cd.DeviceArray), result
    back = torch.from_dlpack(result)
    assert back.data_ptr() == result.__cuda_array_interface__["data"][0]
    torch.testing.assert_close(back, a * b, rtol=0, atol=0)
    again = program.to_device(a)
    assert again.__cuda_array_interface__["data"][0] == a.data_ptr()
    third = cupy.asarray(result)
    assert third.data.ptr == back.data_ptr()
    product = program.simple_mul(third, cupy.from_dlpack(b))
    np.testing.assert_array_equal(product.to_host(), (a * b * b).cpu().numpy())


def work_of_other_streams_is_waited_for(program: Any, torch: Any, cupy: Any) -> None:
    del cupy
    stream = torch.cuda.Stream()
    big = torch.rand(4096, 4096, device="cuda")
    torch.cuda.synchronize()
    for _ in range(20):
        with torch.cuda.stream(stream):
            for _ in range(4):
                big = big @ big
                big = big / big.norm()
            a = big.reshape(-1)[:N].clone()
            result = torch.from_dlpack(program.simple_mul(a, a))
        stream.synchronize()
        torch.testing.assert_close(result, a * a, rtol=0, atol=0)


def memory_given_away_is_not_written_while_it_is_read(program: Any, torch: Any, cupy: Any) -> None:
    del cupy
    a, b = _tensors(torch, n=1 << 22)
    c = torch.full_like(a, 3.0)
    for _ in range(30):
        held = program.to_device(a), program.to_device(b), program.to_device(c)
        borrowed = torch.from_dlpack(program.simple_mul(held[0], held[1]))
        total = borrowed
        for _ in range(20):
            total = total + borrowed
        del borrowed
        program.simple_mul(held[2], held[2])  # may take the memory that was let go
        torch.testing.assert_close(total, a * b * 21, rtol=1e-5, atol=0)


def results_are_written_where_they_are_wanted(program: Any, torch: Any, cupy: Any) -> None:
    a, b = _tensors(torch)
    into = torch.full_like(a, float("nan"))
    assert program.simple_mul(a, b, out=into) is into
    torch.testing.assert_close(into, a * b, rtol=0, atol=0)
    host = np.full(N, np.nan, np.float32)
    program.simple_mul(a, b, out=host)
    np.testing.assert_array_equal(host, (a * b).cpu().numpy())
    with_cupy = cupy.full(N, np.nan, np.float32)
    program.simple_mul(a, b, out=with_cupy)
    cupy.testing.assert_array_equal(with_cupy, cupy.from_dlpack(a * b))
    # An update in place, really in place.
    before = b.clone()
    program.simple_mul_inplace(a, b, out=b)
    torch.testing.assert_close(b, a * before, rtol=0, atol=0)
    # And elsewhere.
    other = torch.empty_like(a)
    program.simple_mul_inplace(a, before, out=other)
    torch.testing.assert_close(other, a * before, rtol=0, atol=0)
    torch.testing.assert_close(program_result(program, a, before, torch), other, rtol=0, atol=0)


def program_result(program: Any, a: Any, b: Any, torch: Any) -> Any:
    return torch.from_dlpack(program.simple_mul_inplace(a, b))


def calls_are_submitted(program: Any, torch: Any, cupy: Any) -> None:
    del cupy
    a, b = _tensors(torch)
    expected = a.clone()
    value = program.to_device(a)
    for _ in range(50):
        value = program.simple_mul.submit(value, b).arrays
        expected = expected * b
    torch.testing.assert_close(torch.from_dlpack(value), expected, rtol=0, atol=0)

    async def several() -> list[Any]:
        return await asyncio.gather(*(_awaited(program.simple_mul.submit(a, b)) for _ in range(8)))

    for result in asyncio.run(several()):
        torch.testing.assert_close(torch.from_dlpack(result), a * b, rtol=0, atol=0)


async def _awaited(submission: Any) -> Any:
    return await submission


def many_threads_call(program: Any, torch: Any, cupy: Any) -> None:
    del cupy
    wrong: list[object] = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        for _ in range(100):
            n = int(generator.integers(1, 5000))
            a, b = (torch.rand(n, device="cuda") for _ in range(2))
            result = torch.from_dlpack(program.simple_mul(a, b))
            if not torch.equal(result, a * b):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def what_does_not_fit_is_refused(program: Any, torch: Any, cupy: Any) -> None:
    del cupy
    a, b = _tensors(torch, n=1024)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: program.simple_mul(a[::2], b[:512]), "has gaps between its elements"),
        (lambda: program.simple_mul(a[1:], b[1:]), "begins at an address that is no multiple of"),
        (lambda: program.simple_mul(a.double(), b), "has dtype f64"),
        (lambda: program.simple_mul(a.reshape(2, 512), b), "which is rank 2"),
        (lambda: program.simple_mul(a, b[:512]), "disagree on dim n"),
        (lambda: program.simple_mul(a.requires_grad_(), b), "cannot be read as an array"),
        (lambda: program.simple_mul(a.detach(), b, out=a.detach()[:512]), "refused an argument"),
    ]
    for call, message in cases:
        try:
            call()
        except CallError as error:
            said = str(error)
        else:
            said = "nothing"
        assert message in said, f"expected {message!r}: {said}"
    # What is on the host is copied.
    result = program.simple_mul(a.detach().cpu(), b)
    torch.testing.assert_close(torch.from_dlpack(result), a.detach() * b, rtol=0, atol=0)
    empty = program.simple_mul(a.detach()[:0], b[:0])
    assert empty.shape == (0,)


def memory_that_is_kept_is_given_back_when_it_is_needed(
    program: Any, torch: Any, cupy: Any
) -> None:
    del cupy
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    held = []
    # Results of ever other sizes, of which the kept buffers alone would fill the memory.
    for step in range(24):
        n = min(free // 4 // 6, 1_800_000_000) + step * 1024
        a = torch.ones(n, device="cuda")
        held = [program.simple_mul(a, a)]
        del a
        torch.cuda.empty_cache()
    assert float(torch.from_dlpack(held[0])[-1]) == 1.0


CASES = (
    tensors_are_not_copied,
    work_of_other_streams_is_waited_for,
    memory_given_away_is_not_written_while_it_is_read,
    results_are_written_where_they_are_wanted,
    calls_are_submitted,
    many_threads_call,
    what_does_not_fit_is_refused,
    memory_that_is_kept_is_given_back_when_it_is_needed,
)


def main(directory: Path) -> int:
    """Run every case."""
    import cupy
    import torch

    return run_each(CASES, lambda: (cd.load(directory / "calls.vmfb", "cuda"), torch, cupy))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
