"""The MLIR text that is written: operations, control flow, C functions, special registers."""
