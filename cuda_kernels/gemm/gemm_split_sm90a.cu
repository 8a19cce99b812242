// C = act(A B + bias + residual) as in gemm_sm90a.cu, split-K: for so few rows of A that C has fewer tiles than the GPU
// has multiprocessors. The blocks of a cluster split the k of one tile, and reduce through distributed shared memory.
//
//   block 0   steps 0 .. s          TMA -> stages -> wgmma -> accumulators |               | the first third of the rows
//   block 1   steps s .. 2 s        TMA -> stages -> wgmma -> accumulators | shared memory, | of all blocks' sums, the
//   block 2   steps 2 s .. 3 s      TMA -> stages -> wgmma -> accumulators | bulk copies    | second, the third; epilogue
//
// Memory traffic: one read of B. A is read by every cluster, from the L2 cache, and no more rows of it than exist;
// (SplitK - 1) / SplitK of the partial sums go from block to block, at about 10 bytes a cycle: so tiles are small. A
// tile of 64 rows has one consumer warpgroup.
#include "../include/gemm_sm90a.cuh"

namespace cuda_kernels {

// A bulk copy to the shared memory of another block of the cluster; the bytes arrive on a barrier there.
__device__ __forceinline__ void send_to_block(void* to, const void* from, int bytes, Barrier* barrier, unsigned block) {
  asm volatile(
      "{\n"
      ".reg .b32 remote, remote_barrier;\n"
      "mapa.shared::cluster.u32 remote, %0, %4;\n"
      "mapa.shared::cluster.u32 remote_barrier, %3, %4;\n"
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [remote], [%1], %2, [remote_barrier];\n"
      "}" ::"r"(shared_address(to)),
      "r"(shared_address(from)), "r"(bytes), "r"(shared_address(barrier)), "r"(block)
      : "memory");
}

template <int TileM, int TileN, int Stages>
struct SplitKStorage {
  Pipeline<TileM, TileN, Stages> pipeline;
  Barrier arrived;  // on which the partial sums of the other blocks arrive
};

template <int TileM>
constexpr int kSplitKThreads = 2 * TileM + 64;  // consumer warpgroups, two producer warps

template <class In, class Out, class Activation, bool IsWeights, int TileM, int TileN, int Stages, int SplitK, class... Numbers>
__global__ void CUDA_KERNELS_CLUSTER(SplitK) __launch_bounds__(kSplitKThreads<TileM>, 1)
    gemm_split_sm90a(const In* __restrict__ a,
                     const In* __restrict__ b,
                     const In* __restrict__ bias,
                     const Out* __restrict__ residual,
                     Out* __restrict__ c,
                     int batch,
                     int m,
                     int n,
                     int k,
                     Numbers... numbers) {
  using SharedStorage = SplitKStorage<TileM, TileN, Stages>;
  constexpr int threads = 2 * TileM;        // of consumers
  constexpr int pitch = TileN + 8;          // of partial sums in shared memory: rows begin in different banks
  constexpr int share = (TileM + SplitK - 1) / SplitK;  // rows of C that a block reduces, at most
  static_assert((TileM + (SplitK - 1) * share) * pitch * 4 <= Stages * (TileM + TileN) * kTileK * 2,
                "room for the partial sums");
  SharedStorage& memory = dynamic_shared_memory<SharedStorage>();
  auto& pipeline = memory.pipeline;
  // Reuses the stages: this block's partial sums, and then those that the others send for its rows.
  float* const partial = reinterpret_cast<float*>(&memory);
  float* const received = partial + TileM * pitch;
  const int block = SplitK > 1 ? cluster_rank() : 0;
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;

  const int rows = (m + TileM - 1) / TileM, columns = (n + TileN - 1) / TileN;
  const int index = blockIdx.x / SplitK, matrix = index / (rows * columns);
  const int row = index % rows * TileM, column = index / rows % columns * TileN;
  const int steps = (k + kStageK<In> - 1) / kStageK<In>;
  const int first = steps * block / SplitK, end = steps * (block + 1) / SplitK;
  const In* const from_a = a + static_cast<long long>(matrix) * m * k;
  const In* const from_b = b + static_cast<long long>(matrix) * n * k;
  const bool uses_tma = pipeline.template can_use_tma<In, IsWeights>(a, b, n, k);
  if (threadIdx.x == threads) {
    initialise(&memory.arrived, 1);
    pipeline.template initialise<1, 64>(uses_tma, m);
  }
  __syncthreads();
  PipelineState<Stages> state;

  if (warp >= threads / 32) {
    if (!uses_tma) {
      for (int i = first; i < end; ++i, state.advance()) {
        wait(&pipeline.empty[state.stage], state.phase ^ 1);
        pipeline.template load_stage<In, IsWeights, 64>(threadIdx.x - threads, state.stage, from_a, from_b, m, n, k, row,
                                                        column, i * kStageK<In>);
      }
    } else {
      pipeline.template make_maps<In, IsWeights, 1>(warp - threads / 32, a, b, batch, m, n, k);
      asm volatile("bar.sync 2, 64;" ::: "memory");
      if (threadIdx.x == threads) {
        const auto source = pipeline.source();
        for (int i = first; i < end; ++i, state.advance()) {
          wait(&pipeline.empty[state.stage], state.phase ^ 1);
          pipeline.template tma_load_stage<IsWeights, 1>(source, state.stage, matrix, row, column, i * kStageK<In>, 0);
        }
      }
    }
    __syncwarp();
    if constexpr (SplitK > 1) cluster_sync();
  } else {
    const int group = warp / 4;
    float accumulators[1][TileN / 2];
#pragma unroll
    for (int i = 0; i < TileN / 2; ++i) accumulators[0][i] = 0.0f;
    int last = 0;
    for (int i = first; i < end; ++i, state.advance()) {
      wait(&pipeline.full[state.stage], state.phase);
      pipeline.template wgmma_stage<In, IsWeights, 1>(accumulators, state.stage, group, true);
      warpgroup_wait<1>();
      if (i > first && threadIdx.x % 128 == 0) arrive(&pipeline.empty[last]);
      last = state.stage;
    }
    warpgroup_wait<0>();
    // All warpgroups are done with the stages, which the partial sums overwrite now; so are, below, those of other blocks.
    pipeline.sync_consumers();
    if constexpr (SplitK > 1) cluster_arrive();
    const int height = min(TileM, m - row);
    const auto begin_of = [&](int of) { return min(height, of * share); };
    const int own = begin_of(block), count = begin_of(block + 1) - own;
    if (SplitK > 1 && threadIdx.x == 0) arrive_and_expect(&memory.arrived, (SplitK - 1) * count * pitch * 4);
    const int warp_row = group * 64 + warp % 4 * 16;
    if (warp_row < height) {
#pragma unroll
      for (int i = 0; i < TileN / 2; i += 2) {
        const int at = warp_row + lane / 4 + i / 2 % 2 * 8, to = i / 4 * 8 + lane % 4 * 2;
        *reinterpret_cast<float2*>(&partial[at * pitch + to]) = float2{accumulators[0][i], accumulators[0][i + 1]};
      }
    }
    if constexpr (SplitK > 1) {
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      cluster_wait();
      pipeline.sync_consumers();
      if (threadIdx.x < SplitK && threadIdx.x != block) {
        const int to = threadIdx.x, begin = begin_of(to), bytes = (begin_of(to + 1) - begin) * pitch * 4;
        float* const place = received + (block < to ? block : block - 1) * share * pitch;
        if (bytes > 0) send_to_block(place, partial + begin * pitch, bytes, &memory.arrived, to);
      }
      __syncwarp();
      wait(&memory.arrived, 0);
    } else {
      pipeline.sync_consumers();
    }
    const bool packs =
        n % 4 == 0 && ((reinterpret_cast<unsigned long long>(c) | reinterpret_cast<unsigned long long>(residual)) %
                       (4 * sizeof(Out))) == 0;
    constexpr int pieces = TileN / 4;  // of a row
    const Activation activation{numbers...};
#pragma unroll 2
    for (int unit = threadIdx.x; unit < count * pieces; unit += threads) {
      const int at = unit / pieces, piece = unit % pieces * 4, from = column + piece;
      if (from >= n) continue;
      float values[4];
      memcpy(values, &partial[(own + at) * pitch + piece], sizeof(values));
#pragma unroll
      for (int other = 0; other < SplitK - 1; ++other) {
        const float4 more = *reinterpret_cast<const float4*>(&received[(other * share + at) * pitch + piece]);
        values[0] += more.x, values[1] += more.y, values[2] += more.z, values[3] += more.w;
      }
      const long long place = (static_cast<long long>(matrix) * m + row + own + at) * n + from;
      Out results[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (from + j < n) {
          if (bias != nullptr) values[j] += static_cast<float>(bias[from + j]);
          if (residual != nullptr) values[j] = activation.joined(values[j], static_cast<float>(residual[place + j]), from + j);
        }
        results[j] = static_cast<Out>(activation.template of<Out>(values[j], min(from + j, n - 1)));
      }
      if (packs) {
        if constexpr (sizeof(Out) == 4) {
          *reinterpret_cast<float4*>(c + place) = {results[0], results[1], results[2], results[3]};
        } else {
          uint2 bits;
          memcpy(&bits, results, sizeof(bits));
          *reinterpret_cast<uint2*>(c + place) = bits;
        }
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (from + j < n) c[place + j] = results[j];
      }
    }
  }
  // A block must not exit while its partial sums may still be in flight to others.
  if constexpr (SplitK > 1) {
    cluster_meet();
  } else {
    __syncthreads();
  }
  pipeline.give_back_maps();
}

}  // namespace cuda_kernels
