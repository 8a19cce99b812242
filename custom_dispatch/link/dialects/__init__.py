"""The dialects that models come in: calls of kernels in each, and IREE's conversion of the rest."""
