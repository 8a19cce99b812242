// Elementwise multiplication, out of place and in place: the smallest kernels that show the whole way
// from a .cu file to a model. One thread computes one element; a thread past the end does nothing,
// because the grid is rounded up to whole blocks.
//
// Memory traffic: 12 bytes an element (two reads, one write). These kernels are for reading, not for
// speed: one 4-byte load a thread keeps too few bytes in flight to fill a large GPU's memory system.

// product[i] = lhs[i] * rhs[i]
extern "C" __global__ void simple_mul(const float* __restrict__ lhs,
                                      const float* __restrict__ rhs,
                                      float* __restrict__ product,
                                      int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) product[i] = lhs[i] * rhs[i];
}

// rhs[i] *= lhs[i]
extern "C" __global__ void simple_mul_inplace(const float* __restrict__ lhs,
                                              float* __restrict__ rhs,
                                              int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) rhs[i] *= lhs[i];
}
