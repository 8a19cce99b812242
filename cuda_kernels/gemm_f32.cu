// C = act(A B + bias + residual) for A [batch, m, k] and B [batch, k, n], or weights [batch, n, k], of f32, on the
// tensor cores of sm_80 and later. Bias [n] and residual [batch, m, n] may each be absent (null). Any sizes; the fast
// way has rows of whole 16 bytes at aligned addresses.
//
// Tensor cores take f32 as TF32, without its last 13 bits. So each number is taken apart into what they see and the
// rest, which they see as well but for its own last bits, and a product is three: rest * seen + seen * rest + seen * seen.
// What is missing, rest * rest and the end of the rest, is below 2^-21 of it. A tensor core also cuts off what
// it adds, always towards zero, where a f32 addition rounds: over a long k that would be a visible part of the sum.
// So it only adds up 8 of k, and these sums are added up by ordinary additions. The errors that were measured
// beside cuBLAS's, which multiplies and adds f32, are in docs/kernels.md. Infinity and NaN stay what they are.
//
// The rest is as in gemm_sm80.cu: a block computes a tile of C, TileM x TileN, each warp a part of it; cp.async
// fills one of `Stages` stages in shared memory, Stages - 1 steps of TileK ahead; fragments for 8 of k are loaded
// while others are used. ldmatrix moves 16 bytes of a row whatever they are: here 4 of k, of A and of weights.
//
// Memory traffic: A is read by n / TileN blocks and B by m / TileM, C is written once; all but the first of these
// reads are of the L2 cache, since blocks that run at the same time compute neighbouring tiles.

#include "include/activation.cuh"
#include "include/mma.cuh"
#include "include/tile.cuh"

namespace cuda_kernels {

// What tensor cores see of a number, and the rest. Where there is no rest it is not zero but next to it: infinity
// times zero would be NaN, in the product of what is seen of infinity and the rest of a number that is seen in full.
__device__ __forceinline__ void take_apart(unsigned bits, unsigned& seen, unsigned& rest) {
  seen = bits & 0xffffe000u;
  const float x = __uint_as_float(bits), high = __uint_as_float(seen);
  const unsigned none = fabsf(x) > 0x1p-100f ? (bits & 0x80000000u) | 0x00800000u : 0u;  // 2^-126
  rest = x == high ? none : __float_as_uint(x - high);
}

template <class Activation, bool IsWeights, int TileM, int TileN, int TileK, int Stages, int WarpsM, int WarpsN>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN) gemm_f32(const float* __restrict__ a,
                                                                 const float* __restrict__ b,
                                                                 const float* __restrict__ bias,
                                                                 const float* __restrict__ residual,
                                                                 float* __restrict__ c,
                                                                 int batch,
                                                                 int m,
                                                                 int n,
                                                                 int k) {
  constexpr int rows = TileM / WarpsM / 16, columns = TileN / WarpsN / 8;  // fragments of a warp
  constexpr int slices = TileK / 8;
  static_assert(columns % 2 == 0 && slices % 2 == 0 && Stages >= 2, "what is loaded at once");
  extern __shared__ __align__(128) unsigned char stages[];

  const Place<TileM, TileN> tile(m, n);
  const long long first_of_a = (static_cast<long long>(tile.number) * m + tile.m) * k;
  const long long first_of_b = static_cast<long long>(tile.number) * n * k;
  const Steps<float, IsWeights, TileM, TileN, TileK, Stages, 32 * WarpsM * WarpsN> steps = {
      a + first_of_a, b + first_of_b + static_cast<long long>(tile.n) * (IsWeights ? k : 1), m - tile.m, n - tile.n,
      k, IsWeights ? k : n, aligned(a, b) && k % 4 == 0 && (IsWeights || n % 4 == 0), stages};

  // Fragments for 8 of k: two sets, of which one is loaded while the other is used.
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_m = warp / WarpsN * rows * 16, warp_n = warp % WarpsN * columns * 8;
  unsigned a_parts[2][rows][4], b_parts[2][columns][2];
  const auto load_parts = [&](int step, int slice) {
    const unsigned char* const stage = steps.stage(step);
    const unsigned of_a = shared_address(stage), of_b = of_a + steps.a_bytes;
#pragma unroll
    for (int i = 0; i < rows; ++i)
      load_matrices(a_parts[slice % 2][i],
                    of_a + place<TileK, float>(warp_m + i * 16 + lane % 16, slice * 2 + lane / 16));
#pragma unroll
    for (int j = 0; j < columns; j += 2) {
      unsigned both[4];
      if constexpr (IsWeights) {
        load_matrices(both, of_b + place<TileK, float>(warp_n + j * 8 + lane / 16 * 8 + lane % 8,
                                                       slice * 2 + lane / 8 % 2));
      } else {
        for (int e = 0; e < 4; ++e) {
          const int row = slice * 8 + e % 2 * 4 + lane % 4, column = warp_n + (j + e / 2) * 8 + lane / 4;
          const unsigned at = place<TileN, float>(row, column / 4) + column % 4 * 4;
          both[e] = *reinterpret_cast<const unsigned*>(stage + steps.a_bytes + at);
        }
      }
      for (int e = 0; e < 4; ++e) b_parts[slice % 2][j + e / 2][e % 2] = both[e];
    }
  };

  float sums[rows][columns][4] = {};
  const auto add_products = [&](const unsigned(&of_a)[rows][4], const unsigned(&of_b)[columns][2]) {
    unsigned b_seen[columns][2], b_rest[columns][2];
#pragma unroll
    for (int j = 0; j < columns; ++j)
      for (int e = 0; e < 2; ++e) take_apart(of_b[j][e], b_seen[j][e], b_rest[j][e]);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      unsigned a_seen[4], a_rest[4];
      for (int e = 0; e < 4; ++e) take_apart(of_a[i][e], a_seen[e], a_rest[e]);
      float products[columns][4] = {};  // the smallest first
#pragma unroll
      for (int j = 0; j < columns; ++j) multiply_add(0.0f, products[j], a_rest, b_seen[j]);
#pragma unroll
      for (int j = 0; j < columns; ++j) multiply_add(0.0f, products[j], a_seen, b_rest[j]);
#pragma unroll
      for (int j = 0; j < columns; ++j) multiply_add(0.0f, products[j], a_seen, b_seen[j]);
#pragma unroll
      for (int j = 0; j < columns; ++j)
        for (int e = 0; e < 4; ++e) sums[i][j][e] += products[j][e];
    }
  };

  for (int step = 0; step < Stages - 1; ++step) {
    steps.begin(step, 0, 1);
    if (!steps.packs) steps.make_slowly(step);
    end_group();
  }
  wait_for_groups<Stages - 2>();
  __syncthreads();
  load_parts(0, 0);
#pragma unroll 1
  for (int step = 0; step * TileK < k; ++step) {
    if (!steps.packs) steps.make_slowly(step + Stages - 1);
#pragma unroll
    for (int slice = 0; slice < slices; ++slice) {
      if (slice + 1 == slices) {
        end_group();
        wait_for_groups<Stages - 2>();
        __syncthreads();
        load_parts(step + 1, 0);
      } else {
        load_parts(step, slice + 1);
        steps.begin(step + Stages - 1, slice, slices - 1);
      }
      add_products(a_parts[slice % 2], b_parts[slice % 2]);
    }
  }
  wait_for_groups<0>();
  __syncthreads();  // the stages are free
  finish_fragments<Activation, rows, columns>(sums, reinterpret_cast<float*>(stages), bias, residual, c, tile.number,
                                              tile.m + warp_m, tile.n + warp_n, m, n);
}

}  // namespace cuda_kernels
