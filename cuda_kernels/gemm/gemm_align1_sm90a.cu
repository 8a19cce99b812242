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
// A thread loads what it stores a step later, so it waits for memory once a step, and blocks have little shared memory
// and registers: several run on a multiprocessor. Where C has few tiles, the blocks of a cluster share the k of each, split-K.
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

template <class In, class Out, class Activation, bool IsWeights, int TileM, int TileN, int SplitK>
__global__ void CUDA_KERNELS_CLUSTER(SplitK) __launch_bounds__(2 * TileN)
    gemm_align1_sm90a(const In* __restrict__ a,
                      const In* __restrict__ b,
                      const In* __restrict__ bias,
                      const Out* __restrict__ residual,
                      Out* __restrict__ c,
                      int batch,
                      int m,
                      int n,
                      int k) {
  using Storage = Align1Storage<TileM, TileN>;
  constexpr int threads = 2 * TileN;
  static_assert(TileM * kPitch<TileN> * 4 <= sizeof(Storage), "room for the sums");
  auto& stages = dynamic_shared_memory<Storage>().stages;
  const int block = SplitK > 1 ? static_cast<int>(cluster_rank()) : 0, group = __shfl_sync(~0u, threadIdx.x / 128, 0);
  const SwizzledTile<TileM, TileN> tile(m, n, blockIdx.x / SplitK);
  const int steps = (k + kTileK - 1) / kTileK;
  const int first = steps * block / SplitK, end = steps * (block + 1) / SplitK;

  using OfA = Bands<In, TileM, 1, threads>;
  using OfB = Bands<In, IsWeights ? TileN : kTileK, IsWeights ? 1 : TileN / 64, threads>;
  const Array array_a(a, static_cast<long long>(batch) * m * k), array_b(b, static_cast<long long>(batch) * n * k);
  const In* const of_batch_b = b + static_cast<long long>(tile.number) * n * k;
  OfA of_a(a + static_cast<long long>(tile.number) * m * k, k, tile.m, first * kTileK, m, k);
  OfB of_b = IsWeights ? OfB(of_batch_b, k, tile.n, first * kTileK, n, k)
                       : OfB(of_batch_b, n, first * kTileK, tile.n, k, n);
  Shifted<In> next_a[OfA::kCount], next_b[OfB::kCount];
  const auto load = [&] {
#pragma unroll
    for (int i = 0; i < OfB::kCount; ++i) next_b[i] = Shifted<In>(of_b.source(i), array_b);
#pragma unroll
    for (int i = 0; i < OfA::kCount; ++i)
      if (OfA::is_there(i)) next_a[i] = Shifted<In>(of_a.source(i), array_a);
  };
  // Stores what was loaded, and goes on to the next step.
  const auto store = [&](Stage<TileM, TileN>& stage) {
#pragma unroll
    for (int i = 0; i < OfB::kCount; ++i)
      *reinterpret_cast<uint4*>(stage.b + OfB::place(i)) = next_b[i].value(of_b.source(i), of_b.left(i), array_b);
#pragma unroll
    for (int i = 0; i < OfA::kCount; ++i)
      if (OfA::is_there(i))
        *reinterpret_cast<uint4*>(stage.a + OfA::place(i)) = next_a[i].value(of_a.source(i), of_a.left(i), array_a);
    of_a.advance(true);
    of_b.advance(IsWeights);
  };

  float accumulators[TileM / 2];
#pragma unroll
  for (float& sum : accumulators) sum = 0.0f;
  int now = 0;
  load();
  store(stages[0]);
  load();
#pragma unroll 1
  for (int i = first; i < end; ++i) {
    // After this all see the stage of this step, and have waited for the wgmmas of the step before the last, whose stage is
    // that of the next.
    fence_proxy();
    __syncthreads();
    multiply_transposed<In, IsWeights, TileM>(accumulators, stages[now].b + group * 64 * 128, stages[now].a);
    now = now + 1 == Storage::kStages ? 0 : now + 1;
    store(stages[now]);
    load();
    warpgroup_wait<1>();
  }
  warpgroup_wait<0>();
  __syncthreads();  // the stages are free
  store_tile<Activation, TileM, TileN, SplitK>(reinterpret_cast<float*>(&stages), accumulators, bias, residual, c, tile, m, n,
                                               block, 0, 1);
}

}  // namespace cuda_kernels
