// Warpgroup MMA (wgmma) of 8-bit floats, for sm_90a: #include "../include/wgmma_f8.cuh".
#pragma once

#include "f8.cuh"
#include "wgmma.cuh"

namespace cuda_kernels {

// sums (+)= A B, over 32 of k: `add` 0 overwrites them. Tiles are K-major.
template <class A, class B, int N>
__device__ __forceinline__ void wgmma_f8(float (&s)[N / 2], unsigned long long a, unsigned long long b, int add) {
#define CUDA_KERNELS_MULTIPLY_OF(SIZE, ...)                                 \
  if constexpr (N == SIZE && kIsE5M2<A> && kIsE5M2<B>) {                    \
    CUDA_KERNELS_MULTIPLY_ALONG(SIZE, __VA_ARGS__, "k32.f32.e5m2.e5m2");    \
  } else if constexpr (N == SIZE && kIsE5M2<A>) {                           \
    CUDA_KERNELS_MULTIPLY_ALONG(SIZE, __VA_ARGS__, "k32.f32.e5m2.e4m3");    \
  } else if constexpr (N == SIZE && kIsE5M2<B>) {                           \
    CUDA_KERNELS_MULTIPLY_ALONG(SIZE, __VA_ARGS__, "k32.f32.e4m3.e5m2");    \
  } else if constexpr (N == SIZE) {                                         \
    CUDA_KERNELS_MULTIPLY_ALONG(SIZE, __VA_ARGS__, "k32.f32.e4m3.e4m3");    \
  }
  static_assert(N == 32 || N == 48 || N == 64 || N == 96 || N == 128, "one of these");
  CUDA_KERNELS_MULTIPLY_OF(32, 16, 16, 17, 18)
  CUDA_KERNELS_MULTIPLY_OF(48, 24, 24, 25, 26)
  CUDA_KERNELS_MULTIPLY_OF(64, 32, 32, 33, 34)
  CUDA_KERNELS_MULTIPLY_OF(96, 48, 48, 49, 50)
  CUDA_KERNELS_MULTIPLY_OF(128, 64, 64, 65, 66)
#undef CUDA_KERNELS_MULTIPLY_OF
}

}  // namespace cuda_kernels
