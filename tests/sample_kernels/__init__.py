"""Small kernels that each show one thing a kernel may do; used by the CPU and the GPU tests."""
