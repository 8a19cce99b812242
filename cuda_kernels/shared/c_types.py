"""Element types as CUDA C++ spells them."""

C_TYPES = {"f32": "float", "tf32": "float", "f16": "__half", "bf16": "__nv_bfloat16"}
