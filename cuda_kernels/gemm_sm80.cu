// C = act(A B + bias + residual) for A [batch, m, k] and B [batch, k, n], or weights [batch, n, k], of f16 or
// bf16, in f32, on the tensor cores of sm_80 and later. Bias [n] and residual [batch, m, n] may each be absent
// (null). Any sizes; the fast way has rows of whole 16 bytes at aligned addresses.
//
// A block computes a tile of C, TileM x TileN. It goes along k in steps of TileK and keeps the tile in its
// threads' registers: of it, each warp has a part of (TileM / WarpsM) x (TileN / WarpsN), as fragments of
// mma.sync (include/mma.cuh).
//
// The pipeline, three deep:
//   cp.async    global memory -> one of `Stages` stages in shared memory, Stages - 1 steps ahead;
//   ldmatrix    shared memory -> registers, 16 of k ahead, in two sets of registers;
//   mma.sync    registers -> the tile. 64 x 64 of a warp are 32 of them for 8 ldmatrix.
// One barrier a step: after it the next stage is there for everybody, and the last one is used by nobody any
// more, so it is filled again. What cp.async writes and what ldmatrix reads both use every bank (include/tile.cuh).
//
// Memory traffic: A is read by n / TileN blocks and B by m / TileM, C is written once. Blocks that run at the
// same time compute neighbouring tiles, 8 high, so that all but the first of these reads are of the L2 cache. From there
// a tile needs (TileM + TileN) * TileK * 2 bytes for 2 * TileM * TileN * TileK operations: at 128 x 256
// 85 operations a byte.

#include "include/activation.cuh"
#include "include/mma.cuh"
#include "include/tile.cuh"

namespace cuda_kernels {

template <class In, class Out, class Activation, bool IsWeights, int TileM, int TileN, int TileK, int Stages,
          int WarpsM, int WarpsN>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN) gemm(const In* __restrict__ a,
                                                             const In* __restrict__ b,
                                                             const In* __restrict__ bias,
                                                             const Out* __restrict__ residual,
                                                             Out* __restrict__ c,
                                                             int batch,
                                                             int m,
                                                             int n,
                                                             int k) {
  constexpr int rows = TileM / WarpsM / 16, columns = TileN / WarpsN / 8;  // fragments of a warp
  constexpr int slices = TileK / 16;
  static_assert(columns % 2 == 0 && slices % 2 == 0 && Stages >= 2, "what is loaded at once");
  extern __shared__ __align__(128) unsigned char stages[];

  const Place<TileM, TileN> tile(m, n);
  const long long first_of_a = (static_cast<long long>(tile.number) * m + tile.m) * k;
  const long long first_of_b = static_cast<long long>(tile.number) * n * k;
  const Steps<In, IsWeights, TileM, TileN, TileK, Stages, 32 * WarpsM * WarpsN> steps = {
      a + first_of_a, b + first_of_b + static_cast<long long>(tile.n) * (IsWeights ? k : 1), m - tile.m, n - tile.n,
      k, IsWeights ? k : n, aligned(a, b) && k % 8 == 0 && (IsWeights || n % 8 == 0), stages};

  // Fragments for 16 of k: two sets, of which one is loaded while the other is used.
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_m = warp / WarpsN * rows * 16, warp_n = warp % WarpsN * columns * 8;
  unsigned a_parts[2][rows][4], b_parts[2][columns][2];
  const auto load_parts = [&](int step, int slice) {
    const unsigned of_a = shared_address(steps.stage(step)), of_b = of_a + steps.a_bytes;
#pragma unroll
    for (int i = 0; i < rows; ++i)
      load_matrices(a_parts[slice % 2][i],
                    of_a + place<TileK, In>(warp_m + i * 16 + lane % 16, slice * 2 + lane / 16));
#pragma unroll
    for (int j = 0; j < columns; j += 2) {
      unsigned both[4];
      if constexpr (IsWeights) {
        load_matrices(both, of_b + place<TileK, In>(warp_n + j * 8 + lane / 16 * 8 + lane % 8,
                                                    slice * 2 + lane / 8 % 2));
      } else {
        load_transposed(both, of_b + place<TileN, In>(slice * 16 + lane % 16, warp_n / 8 + j + lane / 16));
      }
      for (int e = 0; e < 4; ++e) b_parts[slice % 2][j + e / 2][e % 2] = both[e];
    }
  };

  float sums[rows][columns][4] = {};
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
#pragma unroll
      for (int i = 0; i < rows; ++i)
#pragma unroll
        for (int j = 0; j < columns; ++j) {
          const int turned = i % 2 == 0 ? j : columns - 1 - j;  // next to the last one, in B or in A
          multiply_add(In(), sums[i][turned], a_parts[slice % 2][i], b_parts[slice % 2][turned]);
        }
    }
  }
  wait_for_groups<0>();
  __syncthreads();  // the stages are free

  finish_fragments<Activation, rows, columns>(sums, reinterpret_cast<float*>(stages), bias, residual, c, tile.number,
                                              tile.m + warp_m, tile.n + warp_n, m, n);
}

}  // namespace cuda_kernels
