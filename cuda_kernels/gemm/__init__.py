"""Matrix products, and their epilogues: act(a b + bias + residual).

bias [n] and residual may be absent. The name says what b is:

- `linear`: weights [n, k], as PyTorch's; a is [..., k].
- `matmul`: [k, n]; a is [..., k].
- `batch_matmul`: [..., k, n], one for each a [..., m, k].
- `batch_matmul_nt`: [..., n, k], likewise.

An activation and the element type follow: `matmul_gelu_erf_bf16`; and the result's type where that
is f32 and the operands have 16 bits: `linear_f16_f32`. `linear_tf32` takes and gives f32 and
multiplies in TF32, with errors of 3e-4, for who asks for it. Each is a `cd.Choice` (`choices.py`).
`scaled_linear_e4m3_bf16` multiplies 8-bit floats that have scales (`scaled.py`).
`linear_swiglu_f16` and `linear_swiglu_bf16` are a GLU of few rows (`gated.py`).

A kernel is declared when its name is first used. `declare` makes one of another
`Form`, with tiles of its own, and `with_epilogue` products that a `cd.Function` follows.
"""

from cuda_kernels.gemm.names import CHOICES, SCALED
from cuda_kernels.shared.lazily import each_type, from_modules, lazily

__getattr__, __dir__ = lazily(
    globals(),
    from_modules(
        __name__,
        {
            "choices": [*CHOICES, "choice", "declare", "with_epilogue"],
            "scaled": [*SCALED],
            "gated": each_type("linear_swiglu", types=("f16", "bf16")),
            "forms": ["Form"],
            "tiles": ["SkinnyTile", "Tile", "TileF32", "TileTf32"],
        },
    ),
)
