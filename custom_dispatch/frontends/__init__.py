"""Front ends: putting kernels into models. MLIR is the first; the others end in it."""
