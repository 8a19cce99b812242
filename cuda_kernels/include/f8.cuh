// Products of 8-bit floats, e4m3 and e5m2, and their scales: #include "../include/f8.cuh".
#pragma once

#include <cuda_fp8.h>

#include "mma.cuh"

namespace cuda_kernels {

template <class T>
constexpr bool kIsE5M2 = false;
template <>
constexpr bool kIsE5M2<__nv_fp8_e5m2> = true;

// The four numbers of a word as two pairs of f16, exactly. An e5m2 is the upper half of an f16. An e4m3 has the exponent
// of an f16 times 2^8, but no infinity, and NaN where that has 480.
template <class T>
__device__ __forceinline__ void expand_f8(unsigned word, unsigned& first, unsigned& second) {
  if constexpr (kIsE5M2<T>) {
    first = __byte_perm(word, 0, 0x1404), second = __byte_perm(word, 0, 0x3424);
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %2;\ncvt.rn.f16x2.e4m3x2 %0, low;\n"
        "cvt.rn.f16x2.e4m3x2 %1, high;\n}"
        : "=r"(first), "=r"(second)
        : "r"(word));
#else
    // Each byte, and one of copies of its sign.
    asm("prmt.b32 %0, %1, 0, 0x9180;" : "=r"(first) : "r"(word));
    asm("prmt.b32 %0, %1, 0, 0xb3a2;" : "=r"(second) : "r"(word));
    first = first << 7 & 0xbf80bf80, second = second << 7 & 0xbf80bf80;
    asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(first) : "r"(0x5c005c00));
    asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(second) : "r"(0x5c005c00));
    const unsigned nan = (word & 0x7f7f7f7f) + 0x01010101 & 0x80808080;
    if (nan != 0) {
      first |= (nan & 0x80 ? 0x7fff : 0) | (nan & 0x8000 ? 0x7fff0000 : 0);
      second |= (nan & 0x800000 ? 0x7fff : 0) | (nan & 0x80000000 ? 0x7fff0000 : 0);
    }
#endif
  }
}

// The warp-level MMA of 32 of k, for tile.cuh. The numbers of a word are neighbours along k, where a fragment of 16 bits
// has pairs that are 8 apart: but a sum has no order, and A and B have the same.
template <class A, class B, int Rows, int Columns>
struct MultiplyF8 {
  float (&accumulators)[Rows][Columns][4];

  __device__ __forceinline__ void operator()(const unsigned (&a)[Rows][4], const unsigned (&b)[Columns][2]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned of_b[Columns][2];
#pragma unroll
      for (int j = 0; j < Columns; ++j) expand_f8<B>(b[j][half], of_b[j][0], of_b[j][1]);
#pragma unroll
      for (int i = 0; i < Rows; ++i) {
        unsigned of_a[4];
        expand_f8<A>(a[i][2 * half], of_a[0], of_a[2]);
        expand_f8<A>(a[i][2 * half + 1], of_a[1], of_a[3]);
#pragma unroll
        for (int j = 0; j < Columns; ++j) mma(__half(), accumulators[i][j], of_a, of_b[j]);
      }
    }
  }
};

// Scales, each for an equal part of the rows or columns: one for all, or one for each.
struct Scales {
  const float* values;
  int count, parts;

  __device__ __forceinline__ float operator[](int index) const {
    return values[parts == 1 ? 0 : parts == count ? index : index / (count / parts)];
  }
};

// The scales of a warp's fragments: of rows from `row` on, two for each lane, and of 8 * Columns columns from `column` on, each
// in one lane. All are loaded at once, early: a load takes longer than all that is done with it.
template <int Columns>
struct FragmentScales {
  static constexpr int kOwn = (Columns * 8 + 31) / 32;
  float of_rows[2], of_columns[kOwn];

  __device__ __forceinline__ void load_rows(const Scales& of_a, int row) {
    const int own = row + threadIdx.x % 32 / 4;
    for (int half = 0; half < 2; ++half) of_rows[half] = of_a[min(own + half * 8, of_a.count - 1)];
  }
  __device__ __forceinline__ void load_columns(const Scales& of_b, int column) {
    const int own = column + threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) of_columns[i] = of_b[min(own + i * 32, of_b.count - 1)];
  }

  // By a whole warp.
  __device__ __forceinline__ void apply(float (&sums)[Columns][4]) const {
    const int pair = threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < Columns; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float factor = __shfl_sync(~0u, of_columns[j / 4], j % 4 * 8 + pair + e);
        sums[j][e] = sums[j][e] * of_rows[0] * factor, sums[j][2 + e] = sums[j][2 + e] * of_rows[1] * factor;
      }
  }
};

}  // namespace cuda_kernels
