"""Arithmetic that LLVM does not have: rounding modes, 8-bit floats, exact f64, subnormals."""
