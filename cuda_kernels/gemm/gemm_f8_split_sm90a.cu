// C = scales_a scales_b (A B) + bias as in gemm_f8.cu, on the tensor cores of sm_90a, for so few rows of A or so small a C that
// its tiles are fewer than the multiprocessors: a tile has any of several numbers of rows, and a cluster can split its k.
//
// A block computes a tile of C, TileM x TileN, transposed: wgmma's 64 rows are columns of C, and its columns rows of C. So
// few rows waste little. Tensor cores add up 128 of k at a time, and ordinary additions do the rest, as in gemm_f8_sm90a.cu.
//
//   A, B --- all threads, cp.async ---> Stages of 128 of k: B TileN x 128, A TileM x 128
//        --- wgmma, a warpgroup for 64 columns of C ---> products of a stage --- add ---> sums, times their scales
//        --- shared memory, of the cluster's blocks in their order, + bias ---> C
//
// Memory traffic: (TileM + TileN) * 128 bytes from the L2 cache for 2 * TileM * TileN * 128 operations.

#include "../include/cluster.cuh"
#include "../include/gemm_sm90a.cuh"
#include "../include/bands.cuh"
#include "../include/transposed_tile.cuh"
#include "../include/wgmma_f8.cuh"

namespace cuda_kernels {

template <class A, class B, class Out, int TileM, int TileN, int Stages, int SplitK>
__global__ void CUDA_KERNELS_CLUSTER(SplitK) __launch_bounds__(2 * TileN)
    gemm_f8_split_sm90a(const A* __restrict__ a,
                        const B* __restrict__ b,
                        const float* __restrict__ scales_a,
                        const float* __restrict__ scales_b,
                        const Out* __restrict__ bias,
                        Out* __restrict__ c,
                        int m,
                        int n,
                        int k,
                        int parts_a,
                        int parts_b) {
  using Bytes = unsigned char;
  constexpr int threads = 2 * TileN, step = kStageK<Bytes>;
  static_assert(TileM * kPitch<TileN> * 4 <= Stages * (TileM + TileN) * step, "room for the sums");
  auto& stages = dynamic_shared_memory<Stage<TileM, TileN>[Stages]>();
  const int block = SplitK > 1 ? static_cast<int>(cluster_rank()) : 0, lane = threadIdx.x % 32;
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  const SwizzledTile<TileM, TileN> tile(m, n, blockIdx.x / SplitK);
  const int steps = (k + step - 1) / step, first = steps * block / SplitK, end = steps * (block + 1) / SplitK;
  const Bytes *const bytes_a = reinterpret_cast<const Bytes*>(a), *const bytes_b = reinterpret_cast<const Bytes*>(b);
  const bool vectorised = aligned(a, b) && k % kPack<Bytes> == 0;

  Bands<Bytes, TileM, 1, threads> of_a(bytes_a, k, tile.m, first * step, m, k);
  Bands<Bytes, TileN, 1, threads> of_b(bytes_b, k, tile.n, first * step, n, k);
  int next = first, written = 0;
  // The next stage, or an empty group, so that as many are pending in each step.
  const auto begin_stage = [&] {
    if (next < end) {
      of_b.begin_copies(shared_address(stages[written].b));
      of_a.begin_copies(shared_address(stages[written].a));
      for (int part = 0; part < step / kTileK; ++part) of_a.advance(true), of_b.advance(true);
    }
    cp_async_commit();
    ++next, written = written + 1 == Stages ? 0 : written + 1;
  };
  if (vectorised) {
#pragma unroll 1
    for (int i = 0; i < Stages - 1; ++i) begin_stage();
  }

  // Of this thread's two columns and of its rows, while the first stages arrive.
  const Scales of_rows{scales_a, m, parts_a}, of_columns{scales_b, n, parts_b};
  float columns[2], rows[TileM / 4];
#pragma unroll
  for (int half = 0; half < 2; ++half) columns[half] = of_columns[min(tile.n + warp * 16 + lane / 4 + half * 8, n - 1)];
#pragma unroll
  for (int i = 0; i < TileM / 4; ++i) rows[i] = of_rows[min(tile.m + i / 2 * 8 + lane % 4 * 2 + i % 2, m - 1)];

  float sums[TileM / 2], products[TileM / 2];
#pragma unroll
  for (float& sum : sums) sum = 0.0f;
  int stage = 0;
#pragma unroll 1
  for (int i = first; i < end; ++i) {
    if (vectorised) {
      cp_async_wait<Stages - 2>();
    } else {
      using Loads = Pipeline<64, 64, 1>;
      Loads::template load_rows<Bytes, TileN, threads>(threadIdx.x, stages[stage].b, bytes_b + static_cast<long long>(tile.n) * k + i * step, k, n - tile.n, k - i * step);
      Loads::template load_rows<Bytes, TileM, threads>(threadIdx.x, stages[stage].a, bytes_a + static_cast<long long>(tile.m) * k + i * step, k, m - tile.m, k - i * step);
    }
    fence_proxy();
    __syncthreads();  // and all have multiplied the stage before, which is written next
    const unsigned long long left = descriptor_k_major(stages[stage].b + warp / 4 * 64 * step), right = descriptor_k_major(stages[stage].a);
    warpgroup_arrive();
#pragma unroll
    for (int j = 0; j < 4; ++j)  // 32 of k
      wgmma_f8<B, A, TileM>(products, left + j * 2, right + j * 2, j > 0);
    warpgroup_commit();
    if (vectorised) begin_stage();
    warpgroup_wait<0>();
    fence_registers(products);
#pragma unroll
    for (int e = 0; e < TileM / 2; ++e) sums[e] += products[e];
    stage = stage + 1 == Stages ? 0 : stage + 1;
  }
#pragma unroll
  for (int i = 0; i < TileM / 8; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) sums[4 * i + e] = sums[4 * i + e] * rows[2 * i + e % 2] * columns[e / 2];
  // All are done with the stages, which the sums overwrite now.
  __syncthreads();
  store_tile<TileM, TileN, SplitK>(Identity{}, reinterpret_cast<float*>(&stages), sums, bias, static_cast<const Out*>(nullptr), c, tile, m, n, block, 0, 1);
}

}  // namespace cuda_kernels
