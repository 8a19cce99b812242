"""Hand-written CUDA kernels: NAME.cu beside NAME.py, its declaration."""
