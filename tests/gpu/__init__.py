"""The GPU suite, in two halves: `build.py` needs no GPU, `run.py` needs nothing but IREE's runtime,
numpy and a GPU.
"""
