// C++ kernels, none of them extern "C". See templates.py.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace maths {

template <class T, int Tile>
__global__ void row_sums(const T* __restrict__ x, float* y, int columns) {
  __shared__ float parts[Tile];
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += Tile) sum += (float)x[blockIdx.x * columns + i];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int step = Tile / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) parts[threadIdx.x] += parts[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = parts[0];
}

struct Twice { template <class T> __device__ T operator()(T x) const { return x + x; } };
struct Square { template <class T> __device__ T operator()(T x) const { return x * x; } };

// Neither its order of parameters nor its 64-bit count is IREE's.
template <class Operation, class T>
__global__ void apply(T* y, long long count, const T* x) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < count) y[i] = Operation()(x[i]);
}

}  // namespace maths

// Overloads.
__global__ void add(const float* x, float* y, float amount, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] + amount;
}
__global__ void add(const int* x, int* y, int amount, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] + amount;
}

// A file's own kernel, whose entry has no linkage.
static __global__ void negate(const float* x, float* y, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = -x[i];
}
