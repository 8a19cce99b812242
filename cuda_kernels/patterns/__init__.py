"""What the kernels compute, in the words of each front end, for `replace=`.

`torch`, `jax`, `onnx`, `mlir` and `stablehlo`: each name there is a tuple of patterns (of rules in
`jax`), made when it is first used, and `everything` is all of them. None of them has to be found.
`torch_epilogues`, `onnx_epilogues` and `jax_epilogues` also write functions for whatever follows
products.
`tf32.in_tf32` makes their products of f32 faster and less exact.
"""
