// The same kernels for sm_90a alone: another name, persistent blocks, and 96 KiB of shared memory.

#ifndef __CUDA_ARCH_FEAT_SM90_ALL
#error "for sm_90a"
#endif

extern __shared__ float staged[];
const int FLOATS = 24 * 1024;

extern "C" __global__ void geometry_persistent(const float *x, int *out, int count) {
  float *mine = staged + FLOATS - 1 - threadIdx.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    *mine = x[i];
    out[4 * i] = __CUDA_ARCH__ + 1;
    out[4 * i + 1] = blockDim.x;
    out[4 * i + 2] = gridDim.x;
    out[4 * i + 3] = (int)*mine;
  }
}

extern "C" __global__ void doubled(const float *x, float *y, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    y[i] = x[i] + x[i];
}
