// C = act(A B + bias + residual) as in gemm_sm80.cu, on the tensor cores of sm_90a, for so few rows of A or so small a C that
// there is about a tile for each multiprocessor: with tiles of any number of rows, and a short start.
//
// A block computes a tile of C, TileM x TileN, transposed: wgmma's 64 rows are columns of C, and its columns rows of C. So
// a tile has any number of rows that is a multiple of 8, and few rows waste nothing.
//
//   global memory                              shared memory                          registers
//    A, B --- consumers, cp.async: the --->  Stages of the pipeline: 64 of k
//             first of each stage            | B TileN x 64 | A TileM x 64 |  --- wgmma ---> a warpgroup for 64 columns of C,
//         --- one thread, TMA: all     --->  full[i], empty[i]                               accumulators of 64 x TileM, f32
//             others; multicast
//    C  <--- 16 bytes a thread --- f32 sums of the tile, over the stages  <-----------   transposed
//
// TMA needs tensor maps, and finding them takes as long as the first loads. So the first loads of all stages are cp.async:
// of four stages, or of all small ones, before anything else, of the others while these are multiplied. A product whose k
// they hold needs no maps.
//
// A cluster computes RowTiles x ColumnTiles tiles: blocks with the same rows of A load a part of them each, which TMA
// multicasts to all; likewise those with the same columns of B. And it shares their k, split-K: its SplitK
// groups of blocks reduce through distributed shared memory, in a fixed order.

#include "../include/activation.cuh"
#include "../include/bands.cuh"
#include "../include/tensor_map.cuh"
#include "../include/transposed_tile.cuh"

namespace cuda_kernels {

template <int TileM, int TileN, int Stages>
struct ClusterStorage {
  Stage<TileM, TileN> stages[Stages];
  TensorMap staging[2];
  const TensorMap* maps[2];
  Barrier full[Stages];   // on which its TMA loads arrive
  Barrier empty[Stages];  // on which its consumers arrive when they release it
};

template <class In, class Out, class Activation, bool IsWeights, int TileM, int TileN, int Stages, int RowTiles, int ColumnTiles, int SplitK,
          class... Numbers>
__global__ void CUDA_KERNELS_CLUSTER(RowTiles* ColumnTiles* SplitK) __launch_bounds__(2 * TileN + 64)
    gemm_cluster_sm90a(const In* __restrict__ a,
                       const In* __restrict__ b,
                       const In* __restrict__ bias,
                       const Out* __restrict__ residual,
                       Out* __restrict__ c,
                       int batch,
                       int m,
                       int n,
                       int k,
                       Numbers... numbers) {
  constexpr int threads = 2 * TileN, tiles = RowTiles * ColumnTiles, cluster = tiles * SplitK;
  // Stages that are loaded before the first is multiplied: all if they are small.
  constexpr int begun = Stages <= 4 || TileM + TileN <= 160 ? Stages : 4;
  constexpr int share_a = TileM / ColumnTiles, share_b = TileN / RowTiles;
  static_assert(share_a % 8 == 0 && share_b % 8 == 0 && (IsWeights || share_b % 64 == 0), "whole parts");
  static_assert(TileM * kPitch<TileN> * 4 <= Stages * (TileM + TileN) * 128, "room for the sums");
  auto& memory = dynamic_shared_memory<ClusterStorage<TileM, TileN, Stages>>();
  const int rank = cluster > 1 ? static_cast<int>(cluster_rank()) : 0;
  const int of_rows = rank % RowTiles, of_columns = rank / RowTiles % ColumnTiles, block = rank / tiles, base = block * tiles;
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32, which = warp - threads / 32;
  SwizzledTile<TileM * RowTiles, TileN * ColumnTiles> tile(m, n, blockIdx.x / cluster);
  tile.m += of_rows * TileM, tile.n += of_columns * TileN;
  const int steps = (k + kTileK - 1) / kTileK;
  const int first = steps * block / SplitK, end = steps * (block + 1) / SplitK;
  const bool vectorised = aligned(a, b) && k % kPack<In> == 0 && (IsWeights || n % kPack<In> == 0);
  const int rows_a = ColumnTiles > 1 ? share_a : min(m, TileM);

  PipelineState<Stages> state;
  float accumulators[TileM / 2];

  const In* const of_batch_a = a + static_cast<long long>(tile.number) * m * k;
  const In* const of_batch_b = b + static_cast<long long>(tile.number) * n * k;
  using OfB = Bands<In, IsWeights ? TileN : kTileK, IsWeights ? 1 : TileN / 64, threads>;
  Bands<In, TileM, 1, threads> of_a(of_batch_a, k, tile.m, first * kTileK, m, k);
  OfB of_b = IsWeights ? OfB(of_batch_b, k, tile.n, first * kTileK, n, k)
                       : OfB(of_batch_b, n, first * kTileK, tile.n, k, n);
  const auto advance = [&] {
    of_a.advance(true);
    of_b.advance(IsWeights);
  };
  // By the consumers: issues the first loads of a stage.
  const auto begin_stage = [&](int stage) {
    if (first + stage < end) {
      of_b.begin_copies(shared_address(memory.stages[stage].b));
      of_a.begin_copies(shared_address(memory.stages[stage].a));
      advance();
    }
    cp_async_commit();
  };

  // Barriers and the first loads, by different warps.
  if (warp >= threads / 32) {
    if (lane == 0) {
#pragma unroll
      for (int i = 0; i < Stages; ++i) {
        if (which == 0) {
          initialise(&memory.full[i], 1);
        } else {
          initialise(&memory.empty[i], TileN / 64 * (RowTiles + ColumnTiles - 1));
        }
      }
      publish_barriers();
      memory.maps[which] = nullptr;
    }
  } else if (vectorised) {
#pragma unroll 1
    for (int i = 0; i < begun; ++i) begin_stage(i);
  }
  __syncthreads();
  if constexpr (tiles > 1) cluster_meet();

  if (warp >= threads / 32) {
    if (vectorised && end - first > Stages) {
      const TensorMap* map;
      if (which == 0) {
        map = make_tensor_map<In>(&memory.staging[0], {a, k, m, batch, rows_a});
      } else if constexpr (IsWeights) {
        map = make_tensor_map<In>(&memory.staging[1], {b, k, n, batch, share_b});
      } else {
        map = make_tensor_map<In>(&memory.staging[1], {b, n, k, batch, kTileK});
      }
      if (lane == 0) memory.maps[which] = map;
      asm volatile("bar.sync 2, 64;" ::: "memory");
      if (threadIdx.x == threads) {
        const TensorMap *const map_a = memory.maps[0], *const map_b = memory.maps[1];
        acquire_tensor_map(map_a);
        acquire_tensor_map(map_b);
        const int bytes = (ColumnTiles > 1 ? TileM : rows_a) * 128 + TileN * 128;
        const unsigned short for_b = ((1 << RowTiles) - 1) << (base + of_columns * RowTiles);
        unsigned short for_a = 0;
        for (int i = 0; i < ColumnTiles; ++i) for_a |= 1 << (base + i * RowTiles + of_rows);
        for (int i = first + Stages; i < end; ++i) {
          wait(&memory.empty[state.stage], state.phase);
          Barrier* const full = &memory.full[state.stage];
          arrive_and_expect(full, bytes);
          const auto load = [&](int share, unsigned short blocks, unsigned char* to, const TensorMap* from, int x, int y) {
            if (share > 1) {
              tma_load_multicast(blocks, to, from, full, x, y, tile.number);
            } else {
              tma_load(to, from, full, x, y, tile.number);
            }
          };
          auto& stage = memory.stages[state.stage];
          if constexpr (IsWeights) {
            load(RowTiles, for_b, stage.b + of_rows * share_b * 128, map_b, i * kTileK, tile.n + of_rows * share_b);
          } else {
#pragma unroll
            for (int j = 0; j < share_b / 64; ++j)
              load(RowTiles, for_b, stage.b + (of_rows * share_b / 64 + j) * 64 * 128, map_b, tile.n + of_rows * share_b + j * 64, i * kTileK);
          }
          load(ColumnTiles, for_a, stage.a + of_columns * share_a * 128, map_a, i * kTileK, tile.m + of_columns * share_a);
          state.advance();
        }
      }
    }
    __syncwarp();
  } else {
    const int group = warp / 4;
#pragma unroll
    for (float& sum : accumulators) sum = 0.0f;
    if (vectorised) {
      const auto release = [&](int stage) {
        if constexpr (tiles > 1) {
          const int to = threadIdx.x % 128;
          if (to < RowTiles) arrive_at(&memory.empty[stage], base + of_columns * RowTiles + to);
          if (to >= 32 && to - 32 < ColumnTiles && to - 32 != of_columns)
            arrive_at(&memory.empty[stage], base + (to - 32) * RowTiles + of_rows);
        } else {
          if (threadIdx.x % 128 == 0) arrive(&memory.empty[stage]);
        }
      };
      int last = 0;
      for (int i = first; i < end; ++i, state.advance()) {
        if (i - first < Stages) {
          cp_async_wait<begun - 1>();
          fence_proxy();
          asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory");
        } else {
          wait(&memory.full[state.stage], state.phase ^ 1);
        }
        multiply_transposed<In, IsWeights, TileM>(accumulators, memory.stages[state.stage].b + group * 64 * 128, memory.stages[state.stage].a);
        // Another stage, or an empty group, so that as many are pending in each step.
        if (const int next = i - first + begun; next < Stages) {
          begin_stage(next);
        } else {
          cp_async_commit();
        }
        warpgroup_wait<1>();
        if (i > first) release(last);
        last = state.stage;
      }
    } else {
      const Array array_a(a, static_cast<long long>(batch) * m * k), array_b(b, static_cast<long long>(batch) * n * k);
      for (int i = first; i < end; ++i) {
        of_b.copy_shifted(memory.stages[0].b, array_b);
        of_a.copy_shifted(memory.stages[0].a, array_a);
        advance();
        fence_proxy();
        asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory");
        multiply_transposed<In, IsWeights, TileM>(accumulators, memory.stages[0].b + group * 64 * 128, memory.stages[0].a);
        warpgroup_wait<0>();
        asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory");
      }
    }
    warpgroup_wait<0>();
  }
  // All are done with the stages, which the sums overwrite now.
  __syncthreads();
  if constexpr (tiles > 1 && SplitK == 1) cluster_arrive();
  store_tile<TileM, TileN, SplitK>(Activation{numbers...}, reinterpret_cast<float*>(&memory), accumulators, bias, residual, c, tile,
                                   m, n, block, rank % tiles, tiles);
  // A block must not exit while others may still arrive at its barriers, nor return maps while they are in use.
  if constexpr (tiles > 1 && SplitK == 1) cluster_wait();
  if (threadIdx.x < 2 && memory.maps[threadIdx.x] != nullptr) give_back(memory.maps[threadIdx.x]);
}

}  // namespace cuda_kernels
