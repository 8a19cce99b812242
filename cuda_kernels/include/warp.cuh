// Warp-level reductions, to be included by kernels: #include "../include/warp.cuh".
#pragma once

namespace cuda_kernels {

// The sum of `value` over `count` adjacent threads, a power of two up to 32 and the same in the warp, broadcast to each of them.
__device__ __forceinline__ float sum_of(float value, int count) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    if (distance < count) value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
  return value;
}

// The same of two values at once.
__device__ __forceinline__ void sum_both(float& one, float& other, int count) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    if (distance < count) {
      const float a = __shfl_xor_sync(0xffffffffu, one, distance), b = __shfl_xor_sync(0xffffffffu, other, distance);
      one += a;
      other += b;
    }
  }
}

// The maximum of the same. It ignores NaN, as fmaxf does: callers that need NaN handle it themselves.
__device__ __forceinline__ float maximum_of(float value, int count) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    if (distance < count) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

}  // namespace cuda_kernels
