// C = scales_a scales_b (A B) + bias as in gemm_f8.cu, on the tensor cores of sm_90a, which multiply 8-bit floats (wgmma).
//
// Persistent and warp-specialised as gemm_sm90a.cu, cooperative: a stage has 128 of k. Tensor cores add up such products
// with 14 bits, which over a long k would be a visible part of the sum. So they add 128 of k at a time, and ordinary
// additions do the rest, 128 columns at a time: a warpgroup has the sums of 64 x TileN and the products of 64 x 128 at most in
// registers. While one of both warpgroups adds, the other one's products run.
//
//   warpgroup 0   products of a stage | add | products, 128 columns further | add | ..
//   warpgroup 1        | add | products of a stage | add | products ..
//
// Memory traffic: (TileM + TileN / Cluster) * 128 bytes from the L2 cache for 2 * TileM * TileN * 128 operations: 256
// operations a byte at 128 x 256 in clusters of two.

#include "../include/wgmma_f8.cuh"
#include "gemm_sm90a.cu"  // the tile scheduler, the epilogue, and how registers are shared out

namespace cuda_kernels {

template <class A, class B, class Out, int TileM, int TileN, int Stages, int Cluster>
__global__ void CUDA_KERNELS_CLUSTER(Cluster) __launch_bounds__(kGemmThreads, 1)
    gemm_f8_sm90a(const A* __restrict__ a,
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
  constexpr int at_once = TileN > 128 ? TileN / 2 : TileN;  // columns
  static_assert(TileM == 64 * kConsumers && TileN % at_once == 0, "64 rows a warpgroup");
  auto& memory = dynamic_shared_memory<SharedStorage<TileM, TileN, Stages, Cluster, kConsumers>>();
  auto& pipeline = memory.pipeline;
  const Bytes *const bytes_a = reinterpret_cast<const Bytes*>(a), *const bytes_b = reinterpret_cast<const Bytes*>(b);
  const unsigned block = Cluster > 1 ? cluster_rank() : 0;
  const bool uses_tma = pipeline.template can_use_tma<Bytes, true>(bytes_a, bytes_b, n, k);
  if (threadIdx.x == 96) pipeline.template initialise<Cluster, 128>(uses_tma, m);
  if (threadIdx.x == 128) memory.tiles = TileScheduler<TileM, TileN, Cluster>(1, m, n);
  if (threadIdx.x / 32 < 2 && uses_tma) {
    pipeline.template make_maps<Bytes, true, Cluster>(threadIdx.x / 32, bytes_a, bytes_b, 1, m, n, k);
  } else if (threadIdx.x / 32 == 2) {
    const TensorMap* map = nullptr;
    if (n % kPack<Out> == 0 && aligned(c)) map = make_tensor_map<Out>(&memory.map_staging, {c, n, m, 1, 16});
    if (threadIdx.x == 64) memory.map = map;
  }
  __syncthreads();
  if constexpr (Cluster > 1) cluster_meet();

  const auto& tiles = memory.tiles;
  const int first = blockIdx.x / Cluster, stride = gridDim.x / Cluster;
  const int steps = max(1, (k + kStageK<Bytes> - 1) / kStageK<Bytes>);  // one of zeros, if k is 0
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);  // known to be uniform in the warp
  PipelineState<Stages> state;
  int matrix, row, column;

  if (warp < 4) {
    deallocate_registers<40>();
    if (!uses_tma) {
      for (int index = first; index < tiles.count; index += stride) {
        tiles.place(index, block, matrix, row, column);
        for (int i = 0; i < steps; ++i, state.advance()) {
          wait(&pipeline.empty[state.stage], state.phase ^ 1);
          pipeline.template load_stage<Bytes, true, 128>(threadIdx.x, state.stage, bytes_a, bytes_b, m, n, k, row, column,
                                                         i * kStageK<Bytes>);
        }
      }
    } else if (threadIdx.x == 0) {
      const auto source = pipeline.source();
      for (int index = first; index < tiles.count; index += stride) {
        tiles.place(index, block, matrix, row, column);
        for (int i = 0; i < steps; ++i, state.advance()) {
          wait(&pipeline.empty[state.stage], state.phase ^ 1);
          pipeline.template tma_load_stage<true, Cluster>(source, state.stage, 0, row, column, i * kStageK<Bytes>, block);
        }
      }
    }
  } else {
    allocate_registers<232>();
    const int group = warp / 4 - 1, thread = threadIdx.x % 128;
    const TensorMap* const map = memory.map;
    if (map != nullptr) acquire_tensor_map(map);
    const Scales of_rows{scales_a, m, parts_a}, of_columns{scales_b, n, parts_b};
    for (int index = first; index < tiles.count; index += stride) {
      tiles.place(index, block, matrix, row, column);
      const WarpTile rows{row + group * 64 + warp % 4 * 16, column, 0, m, n};
      FragmentScales<TileN / 8> scales;
      scales.load_rows(of_rows, rows.row);
      scales.load_columns(of_columns, column);
      float sums[TileN / 2], products[at_once / 2];
#pragma unroll
      for (float& sum : sums) sum = 0.0f;
      for (int i = 0; i < steps; ++i, state.advance()) {
        wait(&pipeline.full[state.stage], state.phase);
        const unsigned long long tile_a = descriptor_k_major(pipeline.a[state.stage]) + group * (64 * 128 >> 4);
        const unsigned long long tile_b = descriptor_k_major(pipeline.b[state.stage]);
#pragma unroll
        for (int part = 0; part < TileN / at_once; ++part) {
          warpgroup_arrive();
#pragma unroll
          for (int j = 0; j < 4; ++j)  // 32 of k
            wgmma_f8<A, B, at_once>(products, tile_a + j * 2, tile_b + part * (at_once * 128 >> 4) + j * 2, j > 0);
          warpgroup_commit();
          warpgroup_wait<0>();
          fence_registers(products);
          if (part + 1 == TileN / at_once) {
            if constexpr (Cluster > 1) {
              if (thread < Cluster) arrive_at(&pipeline.empty[state.stage], thread);
            } else {
              if (thread == 0) arrive(&pipeline.empty[state.stage]);
            }
          }
#pragma unroll
          for (int e = 0; e < at_once / 2; ++e) sums[part * (at_once / 2) + e] += products[e];
        }
      }
      scales.apply(reinterpret_cast<float(&)[TileN / 8][4]>(sums));
      epilogue<Out, Out, TileN>(Identity{}, sums, memory.staging[warp - 4], map, bias, static_cast<const Out*>(nullptr), c, rows);
    }
    // Keep shared memory until TMA has read it, and a claimed map's slot until everything is stored.
    if (map != nullptr && is_claimed(map)) {
      tma_store_wait();
    } else {
      tma_store_wait_read<0>();
    }
  }
  // A block must not exit while others may still arrive at its barriers, nor return maps while they are in use.
  if constexpr (Cluster > 1) {
    cluster_meet();
  } else {
    __syncthreads();
  }
  pipeline.give_back_maps();
  if (threadIdx.x == 2 && memory.map != nullptr) give_back(memory.map);
}

}  // namespace cuda_kernels
