// The warp-level MMAs of a tile of tile.cuh, of 16 bits, TF32 and f32, to be included by kernels: #include "../include/multiply.cuh".
// How f32 is multiplied (3xTF32) is explained in gemm_f32.cu.
#pragma once

#include "mma.cuh"

namespace cuda_kernels {

// The warp-level MMA of a slice of k.
template <class In, int Rows, int Columns>
struct Multiply {
  float (&accumulators)[Rows][Columns][4];

  __device__ __forceinline__ void operator()(const unsigned (&a)[Rows][4], const unsigned (&b)[Columns][2]) const {
#pragma unroll
    for (int i = 0; i < Rows; ++i)
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        const int turned = i % 2 == 0 ? j : Columns - 1 - j;  // serpentine: shares a fragment with the previous mma
        mma(In(), accumulators[i][turned], a[i], b[turned]);
      }
  }
};

// The same of f32 that are rounded to TF32.
template <int Rows, int Columns>
struct MultiplyTf32 {
  float (&accumulators)[Rows][Columns][4];

  __device__ __forceinline__ void operator()(const unsigned (&a)[Rows][4], const unsigned (&b)[Columns][2]) const {
    unsigned of_a[Rows][4], of_b[Columns][2];
#pragma unroll
    for (int i = 0; i < Rows; ++i)
      for (int e = 0; e < 4; ++e) of_a[i][e] = rounded_to_tf32(__uint_as_float(a[i][e]));
#pragma unroll
    for (int j = 0; j < Columns; ++j)
      for (int e = 0; e < 2; ++e) of_b[j][e] = rounded_to_tf32(__uint_as_float(b[j][e]));
    Multiply<float, Rows, Columns>{accumulators}(of_a, of_b);
  }
};

// Splits a number into what tensor cores see and the rest: NaN for infinity, and zero for a number that is seen in full,
// which gives NaN again in a product with infinity. The careful split has a rest that is never zero, but too small to
// change a sum, and infinity for infinity.
template <bool IsCareful>
__device__ __forceinline__ void take_apart(unsigned bits, unsigned& seen, unsigned& rest) {
  seen = bits & 0xffffe000u;
  const float x = __uint_as_float(bits), left = x - __uint_as_float(seen);
  rest = __float_as_uint(!IsCareful || fabsf(left) > 0.0f ? left : x * 0x1p-26f);
}

// Multiplies the fragments of 8 of k.
template <bool IsCareful, int Rows, int Columns>
struct MultiplyF32 {
  float (&accumulators)[Rows][Columns][4];

  __device__ __forceinline__ void operator()(const unsigned (&a)[Rows][4], const unsigned (&b)[Columns][2]) const {
    unsigned b_seen[Columns][2], b_rest[Columns][2];
#pragma unroll
    for (int j = 0; j < Columns; ++j)
      for (int e = 0; e < 2; ++e) take_apart<IsCareful>(b[j][e], b_seen[j][e], b_rest[j][e]);
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      unsigned a_seen[4], a_rest[4];
      for (int e = 0; e < 4; ++e) take_apart<IsCareful>(a[i][e], a_seen[e], a_rest[e]);
      float products[Columns][4] = {};  // the smallest first
#pragma unroll
      for (int j = 0; j < Columns; ++j) mma(0.0f, products[j], a_rest, b_seen[j]);
#pragma unroll
      for (int j = 0; j < Columns; ++j) mma(0.0f, products[j], a_seen, b_rest[j]);
#pragma unroll
      for (int j = 0; j < Columns; ++j) mma(0.0f, products[j], a_seen, b_seen[j]);
#pragma unroll
      for (int j = 0; j < Columns; ++j)
        for (int e = 0; e < 4; ++e) accumulators[i][j][e] += products[j][e];
    }
  }
};

// The sums of a product; whether any thread of the block has NaN among them.
template <bool IsCareful, class Mainloop>
__device__ __forceinline__ bool multiply(Mainloop mainloop, float (&accumulators)[Mainloop::rows][Mainloop::columns][4]) {
  for (auto& row : accumulators)
    for (auto& fragment : row)
      for (float& sum : fragment) sum = 0.0f;
  mainloop.run(MultiplyF32<IsCareful, Mainloop::rows, Mainloop::columns>{accumulators});
  bool has_nan = false;
  for (const auto& row : accumulators)
    for (const auto& fragment : row)
      for (const float sum : fragment) has_nan |= isnan(sum);
  return __syncthreads_or(has_nan);
}

}  // namespace cuda_kernels
