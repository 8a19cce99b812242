"""Matrix products in PyTorch's words, with what follows them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from cuda_kernels import gemm as gemms
from cuda_kernels.patterns.rewriting.einsum import write_einsum
from cuda_kernels.patterns.rewriting.products import write_products
from cuda_kernels.patterns.rewriting.weights import write_linear
from cuda_kernels.patterns.torch_types import Patterns, each_type


def _linear(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    return functional.linear(a, b, bias)


def _linear_and_sum(a: Tensor, b: Tensor, residual: Tensor, bias: Tensor | None = None) -> Tensor:
    return functional.linear(a, b, bias) + residual


def _linear_relu(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    return functional.relu(functional.linear(a, b, bias))


def _linear_silu(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    return functional.silu(functional.linear(a, b, bias))


def _linear_gelu_erf(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    return functional.gelu(functional.linear(a, b, bias))


def _linear_gelu_tanh(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    return functional.gelu(functional.linear(a, b, bias), approximate="tanh")


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    return torch.matmul(a, b)


def _matmul_and_sum(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
    return torch.matmul(a, b) + bias


def _matmul_and_sum_as_in_gpt2(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
    """As transformers' `Conv1D` has it: the leading dims are one in between."""
    flat = torch.addmm(bias, a.view(-1, a.shape[-1]), b)
    return flat.view((*a.shape[:-1], b.shape[-1]))


def _matmul_relu(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
    return functional.relu(torch.matmul(a, b) + bias)


def _matmul_silu(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
    return functional.silu(torch.matmul(a, b) + bias)


def _matmul_gelu_erf(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
    return functional.gelu(torch.matmul(a, b) + bias)


def _matmul_gelu_tanh(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
    return functional.gelu(torch.matmul(a, b) + bias, approximate="tanh")


def _addmm(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
    return torch.addmm(bias, a, b)


def _mm(a: Tensor, b: Tensor) -> Tensor:
    return torch.mm(a, b)


def _bmm(a: Tensor, b: Tensor) -> Tensor:
    return torch.bmm(a, b)


def _matmul_nt(a: Tensor, b: Tensor) -> Tensor:
    return torch.matmul(a, b.transpose(-1, -2))


def _matmul_nt_the_other_way(a: Tensor, b: Tensor) -> Tensor:
    return torch.matmul(a, b.transpose(-2, -1))


def products_of_weights() -> Patterns:
    """`linear`; those first that stand for more."""
    return (
        *each_type(gemms, "linear_relu", _linear_relu),
        *each_type(gemms, "linear_silu", _linear_silu),
        *each_type(gemms, "linear_gelu_erf", _linear_gelu_erf),
        *each_type(gemms, "linear_gelu_tanh", _linear_gelu_tanh),
        *each_type(gemms, "linear", _linear_and_sum),
        *each_type(gemms, "linear", _linear, rewrites=write_linear),
    )


def products() -> Patterns:
    """Of matrices, and of batches of them."""
    return (
        *each_type(gemms, "matmul_relu", _matmul_relu),
        *each_type(gemms, "matmul_silu", _matmul_silu),
        *each_type(gemms, "matmul_gelu_erf", _matmul_gelu_erf),
        *each_type(gemms, "matmul_gelu_tanh", _matmul_gelu_tanh),
        *each_type(gemms, "matmul", _matmul_and_sum, _matmul_and_sum_as_in_gpt2),
        *each_type(gemms, "matmul", _matmul, _mm, _addmm, rewrites=write_einsum),
        *each_type(gemms, "batch_matmul_nt", _matmul_nt, _matmul_nt_the_other_way),
        *each_type(gemms, "batch_matmul", _matmul, _bmm, rewrites=write_products),
    )
