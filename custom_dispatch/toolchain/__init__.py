"""From `.cu` sources to objects: nvcc, NVRTC and ptxas. No GPU and no driver are needed."""
