// C = act(A B + bias + residual) as in gemm_sm80.cu, on the tensor cores of sm_90a, for rows that begin at any address: k,
// or n of B as [k, n], is no multiple of 8, or a view begins between 16 bytes. Neither TMA nor cp.async of 16 bytes can load
// them.
//
// A block computes a tile of C, TileM x TileN, transposed: wgmma's 64 rows are columns of C, and its columns rows of C.
//
//   global memory                        registers                       shared memory, 3 stages       registers
//    A, B --- two aligned 16 bytes ----> the step after the next, --->  B TileN x 64 | A TileM x 64  --- wgmma ---> f32
//             for each 16 of a row       shifted when it is there
//
// A thread loads what it stores a step later, so it waits for memory once a step. Its pieces are 16 rows apart or more, so
// all begin at the same byte of 16 and shift alike. Blocks have little shared memory: several run on a multiprocessor. Where C has few tiles, the blocks of a cluster share the k of each, split-K.
//
// Memory traffic: twice what a tile has, since the two pairs of neighbours overlap; the second time from the L1 cache.

#include "../include/activation.cuh"
#include "../include/bands.cuh"
#include "../include/transposed_tile.cuh"

namespace cuda_kernels {

template <int TileM, int TileN>
struct Align1Storage {
  static constexpr int kStages = 3;

  Stage<TileM, TileN> stages[kStages];
};

// Of the steps of k, how many before it is stored one is loaded. Many blocks share the k where there are few, which wait for
// memory; where there are more, a multiprocessor has another block to go on with.
template <int SplitK>
constexpr int kAhead = SplitK >= 8 ? 2 : 1;

// Blocks of a multiprocessor at least, for which the compiler saves registers.
template <int TileM, int TileN, int SplitK>
constexpr int kAlign1Blocks = kAhead<SplitK> == 1 && TileM <= 64 ? 256 / TileN : 1;

template <class In, class Out, class Activation, bool IsWeights, int TileM, int TileN, int SplitK, class... Numbers>
__global__ void CUDA_KERNELS_CLUSTER(SplitK) __launch_bounds__(2 * TileN, kAlign1Blocks<TileM, TileN, SplitK>)
    gemm_align1_sm90a(const In* __restrict__ a,
                      const In* __restrict__ b,
                      const In* __restrict__ bias,
                      const Out* __restrict__ residual,
                      Out* __restrict__ c,
                      int batch,
                      int m,
                      int n,
                      int k,
                      Numbers... numbers) {
  using Storage = Align1Storage<TileM, TileN>;
  constexpr int threads = 2 * TileN;
  static_assert(TileM * kPitch<TileN> * 4 <= sizeof(Storage), "room for the sums");
  auto& stages = dynamic_shared_memory<Storage>().stages;
  const int block = SplitK > 1 ? static_cast<int>(cluster_rank()) : 0, group = __shfl_sync(~0u, threadIdx.x / 128, 0);
  const SwizzledTile<TileM, TileN> tile(m, n, blockIdx.x / SplitK);
  const int steps = (k + kTileK - 1) / kTileK;
  const int first = steps * block / SplitK, end = steps * (block + 1) / SplitK;

  constexpr int ahead = kAhead<SplitK>;
  using OfA = UnalignedBands<In, TileM, 1, threads, ahead>;
  using OfB = UnalignedBands<In, IsWeights ? TileN : kTileK, IsWeights ? 1 : TileN / 64, threads, ahead>;
  const long long count_a = static_cast<long long>(m) * k, count_b = static_cast<long long>(n) * k;
  const In* const of_batch_b = b + tile.number * count_b;
  OfA of_a(a, batch * count_a, a + tile.number * count_a, k, tile.m, first * kTileK, m, k);
  OfB of_b = IsWeights ? OfB(b, batch * count_b, of_batch_b, k, tile.n, first * kTileK, n, k)
                       : OfB(b, batch * count_b, of_batch_b, n, first * kTileK, tile.n, k, n);
  const auto load = [&](int set, int later) {
    of_b.load(set, later, IsWeights);
    of_a.load(set, later, true);
  };
  const auto store = [&](Stage<TileM, TileN>& stage, int set) {
    of_b.store(stage.b, set, IsWeights);
    of_a.store(stage.a, set, true);
  };

  float accumulators[TileM / 2];
#pragma unroll
  for (float& sum : accumulators) sum = 0.0f;
  int now = 0;
#pragma unroll
  for (int i = 0; i < ahead; ++i) load(i, i);
  store(stages[0], 0);
  load(0, ahead - 1);
#pragma unroll 1
  for (int i = first; i < end; i += ahead) {
#pragma unroll
    for (int set = 0; set < ahead; ++set) {
      if (i + set >= end) break;
      // After this all see the stage of this step, and have waited for the wgmmas of the step before the last, whose stage
      // is that of the next.
      fence_proxy();
      __syncthreads();
      multiply_transposed<In, IsWeights, TileM>(accumulators, stages[now].b + group * 64 * 128, stages[now].a);
      now = now + 1 == Storage::kStages ? 0 : now + 1;
      store(stages[now], (set + 1) % ahead);
      load((set + 1) % ahead, ahead - 1);
      warpgroup_wait<1>();
    }
  }
  warpgroup_wait<0>();
  __syncthreads();  // the stages are free
  store_tile<TileM, TileN, SplitK>(Activation{numbers...}, reinterpret_cast<float*>(&stages), accumulators, bias, residual, c,
                                   tile, m, n, block, 0, 1);
}

}  // namespace cuda_kernels
