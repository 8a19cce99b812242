// Warpgroup MMA with A in registers (wgmma RS), for sm_90a, to be included by kernels:
// #include "../include/wgmma_registers.cuh".
//
// Thread t of the warpgroup holds the same part of A [64, 16] as of accumulators: rows t / 32 * 16 + t % 32 / 4 + {0, 8}
// in turn, columns t % 4 * 2 + {0, 1}, then the same 8 columns further, two neighbours to a register. So the
// accumulators of one product, rounded and packed, are the A of the next.
#pragma once

#include "wgmma.cuh"

namespace cuda_kernels {

// As in wgmma.cuh, with four registers of A.
#define CUDA_KERNELS_MULTIPLY(N, SUMS, A0, A1, A2, A3, B, ADD, ACROSS_B, TYPE)                                      \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #ADD ", 0;\n"                                               \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" CUDA_KERNELS_NAMES_##SUMS "}, " \
               "{%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B ", add, 1, 1, %" #ACROSS_B ";\n}"                   \
               : CUDA_KERNELS_SUMS_##SUMS(0)                                                                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(kAcrossB))

// accumulators (+)= A B, over 16 of k: `add` 0 overwrites them. The registers of A must not change before the
// wait for the wgmma.
template <class In, int N, int kAcrossB>
__device__ __forceinline__ void wgmma_from_registers(float (&s)[N / 2],
                                                     const unsigned (&a)[4],
                                                     unsigned long long b,
                                                     int add) {
#define CUDA_KERNELS_MULTIPLY_OF(SIZE, ...)           \
  if constexpr (N == SIZE && kIsHalf<In>) {           \
    CUDA_KERNELS_MULTIPLY(SIZE, __VA_ARGS__, "f16");  \
  } else if constexpr (N == SIZE) {                   \
    CUDA_KERNELS_MULTIPLY(SIZE, __VA_ARGS__, "bf16"); \
  }
  static_assert(N == 16 || N == 32 || N == 64 || N == 80 || N == 96 || N == 128 || N == 160 || N == 192 ||
                    N == 224 || N == 256,
                "one of these");
  CUDA_KERNELS_MULTIPLY_OF(16, 8, 8, 9, 10, 11, 12, 13, 14)
  CUDA_KERNELS_MULTIPLY_OF(32, 16, 16, 17, 18, 19, 20, 21, 22)
  CUDA_KERNELS_MULTIPLY_OF(64, 32, 32, 33, 34, 35, 36, 37, 38)
  CUDA_KERNELS_MULTIPLY_OF(80, 40, 40, 41, 42, 43, 44, 45, 46)
  CUDA_KERNELS_MULTIPLY_OF(96, 48, 48, 49, 50, 51, 52, 53, 54)
  CUDA_KERNELS_MULTIPLY_OF(128, 64, 64, 65, 66, 67, 68, 69, 70)
  CUDA_KERNELS_MULTIPLY_OF(160, 80, 80, 81, 82, 83, 84, 85, 86)
  CUDA_KERNELS_MULTIPLY_OF(192, 96, 96, 97, 98, 99, 100, 101, 102)
  CUDA_KERNELS_MULTIPLY_OF(224, 112, 112, 113, 114, 115, 116, 117, 118)
  CUDA_KERNELS_MULTIPLY_OF(256, 128, 128, 129, 130, 131, 132, 133, 134)
#undef CUDA_KERNELS_MULTIPLY_OF
}

#undef CUDA_KERNELS_MULTIPLY

// The same over 8 of k of TF32: a[0] and a[1] are rows t / 32 * 16 + t % 32 / 4 + {0, 8}, column t % 4; the others 4 columns
// further. B is K-major.
#define CUDA_KERNELS_MULTIPLY_OF(N, SUMS, A0, A1, A2, A3, B, ADD)                                                \
  if constexpr (Size == N)                                                                                      \
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #ADD ", 0;\n"                                         \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k8.f32.tf32.tf32 {" CUDA_KERNELS_NAMES_##SUMS "}, "    \
                 "{%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B ", add, 1, 1;\n}"                             \
                 : CUDA_KERNELS_SUMS_##SUMS(0)                                                                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add))
template <int Size>
__device__ __forceinline__ void wgmma_tf32_from_registers(float (&s)[Size / 2], const unsigned (&a)[4],
                                                          unsigned long long b, int add) {
  static_assert(Size == 128 || Size == 256, "one of these");
  CUDA_KERNELS_MULTIPLY_OF(128, 64, 64, 65, 66, 67, 68, 69);
  CUDA_KERNELS_MULTIPLY_OF(256, 128, 128, 129, 130, 131, 132, 133);
}
#undef CUDA_KERNELS_MULTIPLY_OF

}  // namespace cuda_kernels
