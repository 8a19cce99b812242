"""Benchmarks that need a GPU: built where the compilers are, run where the GPU is."""
