// Exponential functions, to be included by kernels: #include "../include/exponential.cuh".
#pragma once

namespace cuda_kernels {

constexpr float kLog2E = 1.4426950408889634f;

// 2 to the power of x; results below 1.2e-38 are zeros.
__device__ __forceinline__ float power_of_two(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// exp(x), like __expf except for those zeros: __expf keeps such small results with four more instructions, for which
// not every memory-bound kernel has room.
__device__ __forceinline__ float exponential(float x) { return power_of_two(x * kLog2E); }

}  // namespace cuda_kernels
