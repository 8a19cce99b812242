// The exponential function, to be included by kernels: #include "include/exponential.cuh".
#pragma once

namespace cuda_kernels {

// exp(x), as __expf computes it, but with results below 1.2e-38 as zeros: to keep these, __expf takes four
// more instructions, which the kernels that are bound by memory have not all room for.
__device__ __forceinline__ float exponential(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * 1.4426950408889634f));
  return result;
}

}  // namespace cuda_kernels
