// C = act(A B + bias + residual) for A [batch, m, k] and B [batch, k, n], or weights [batch, n, k], of f32, on the
// tensor cores of sm_80 and later. Bias [n] and residual [batch, m, n] may each be absent (null). Any sizes; the fast
// path has rows of whole 16 bytes at aligned addresses.
//
// 3xTF32. Tensor cores truncate f32 to TF32, without its last 13 bits. So each number is split into what they see and
// the rest, which they see too except for its own last bits, and a product becomes three: rest * seen + seen * rest +
// seen * seen. What is missing, rest * rest and the end of the rest, is below 2^-21 of it. A tensor core also truncates
// when it accumulates, always towards zero, where an f32 addition rounds: over a long k that would be a visible part of
// the sum. So it only accumulates 8 of k, and ordinary additions do the rest. The errors, measured beside those of
// cuBLAS, which multiplies and adds f32, are in docs/kernels/gemm_sm80.md.
//
// Infinity cannot be split like this: its rest is NaN, and so is every sum that contains it. So a block that finds NaN
// in its tile computes it again with a careful split. Other blocks do not pay for it.
//
// Everything else is as in gemm_sm80.cu, with fragments for 8 of k. ldmatrix moves 16 bytes of a row, whatever they are:
// here 4 of k, of A and of weights.
//
// Memory traffic: A is read by n / TileN blocks and B by m / TileM, C is written once; all but the first of these
// reads hit the L2 cache, since blocks that run at the same time compute adjacent tiles.

#include "../include/activation.cuh"
#include "../include/mma.cuh"
#include "../include/tile.cuh"

namespace cuda_kernels {

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

// The minimum number of blocks per multiprocessor, for __launch_bounds__; 0: none. Shared memory holds two blocks of
// 96 KiB; for three the compiler leaves 80 registers, which are too few for B as [k, n]. With weights this is
// 5 % faster than with more registers.
template <bool IsWeights, int SharedBytes>
constexpr int kResident = !IsWeights && SharedBytes > 64 * 1024 ? 2 : 0;

template <class Activation, bool IsWeights, int TileM, int TileN, int TileK, int Stages, int WarpsM, int WarpsN,
          int WarpsK>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN * WarpsK,
                                  kResident<IsWeights, Stages * (TileM + TileN) * TileK * 4>)
    gemm_f32(const float* __restrict__ a,
             const float* __restrict__ b,
             const float* __restrict__ bias,
             const float* __restrict__ residual,
             float* __restrict__ c,
             int batch,
             int m,
             int n,
             int k) {
  using Mainloop = MainloopSm80<float, IsWeights, TileM, TileN, TileK, Stages, WarpsM, WarpsN, WarpsK>;
  extern __shared__ __align__(128) unsigned char stages[];
  const typename Mainloop::Tile tile(m, n);
  float accumulators[Mainloop::rows][Mainloop::columns][4];
  if (multiply<false>(Mainloop(a, b, tile, m, n, k, stages), accumulators)) {
    multiply<true>(Mainloop(a, b, tile, m, n, k, stages), accumulators);
  }
  epilogue<Activation, Mainloop>(accumulators, stages, bias, residual, c, tile, m, n);
}

}  // namespace cuda_kernels
