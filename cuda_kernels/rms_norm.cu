// Root-mean-square normalisation of rows: y = x / sqrt(mean(x * x) + epsilon) * weight, for f32 and
// f16, summed in f32. One block computes one row; its second pass finds the row in the caches.
//
// Memory traffic: two reads (one of them of the caches) and a write of each element.

#include <cuda_fp16.h>

#include "include/block_reduce.cuh"

namespace cuda_kernels {

template <class T, int Threads>
__global__ void __launch_bounds__(Threads) rms_norm(const T* __restrict__ x,
                                                    const T* __restrict__ weight,
                                                    T* __restrict__ y,
                                                    float epsilon,
                                                    int columns) {
  const long long first = static_cast<long long>(blockIdx.x) * columns;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < columns; i += Threads) {
    const float value = x[first + i];
    squares += value * value;
  }
  const float scale = rsqrtf(block_sum<Threads>(squares) / columns + epsilon);
  for (int i = threadIdx.x; i < columns; i += Threads)
    y[first + i] = static_cast<T>(static_cast<float>(x[first + i]) * scale *
                                  static_cast<float>(weight[i]));
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX.
template __global__ void rms_norm<float, 256>(const float*, const float*, float*, float, int);
template __global__ void rms_norm<__half, 256>(const __half*, const __half*, __half*, float, int);

}  // namespace cuda_kernels
