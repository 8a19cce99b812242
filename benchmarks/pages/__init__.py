"""Whether pages of docs/kernels say what was measured."""
