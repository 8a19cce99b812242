// Which code runs, and how it was launched: out[i] = architecture, threads, blocks, and x[i].

extern "C" __global__ void geometry(const float *x, int *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  out[4 * i] = __CUDA_ARCH__;
  out[4 * i + 1] = blockDim.x;
  out[4 * i + 2] = gridDim.x;
  out[4 * i + 3] = (int)x[i];
}

extern "C" __global__ void doubled(const float *x, float *y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] + x[i];
}
