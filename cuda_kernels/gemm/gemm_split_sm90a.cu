// C = act(A B + bias + residual) as in gemm_sm90a.cu, for so few rows of A that C has fewer tiles than the GPU has
// multiprocessors: the blocks of a cluster share the k of one tile, and add up through each other's shared memory.
//
//   block 0   steps 0 .. s          TMA -> ring -> wgmma -> sums |                | the first third of the rows of
//   block 1   steps s .. 2 s        TMA -> ring -> wgmma -> sums | shared memory, | all blocks' sums, the second, the
//   block 2   steps 2 s .. 3 s      TMA -> ring -> wgmma -> sums | bulk copies    | third, then bias and so on
//
// Memory traffic: one read of B. A is read by every cluster, from the L2 cache, and no more rows of it than there
// are; (Split - 1) / Split of the sums go from block to block, at about 10 bytes a cycle: so tiles are small. A tile
// of 64 rows has one warpgroup of consumers.
#include "../include/gemm_sm90a.cuh"

namespace cuda_kernels {

// Copies shared memory to another block of the cluster; the bytes arrive on a barrier there.
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
struct SplitMemory {
  Pipeline<TileM, TileN, Stages> pipeline;
  Barrier arrived;  // on which the sums of the other blocks arrive
};

template <int TileM>
constexpr int kSplitThreads = 2 * TileM + 64;  // warpgroups of consumers, two warps of producers

template <class In, class Out, class Activation, bool IsWeights, int TileM, int TileN, int Stages, int Split>
__global__ void CUDA_KERNELS_CLUSTER(Split) __launch_bounds__(kSplitThreads<TileM>, 1)
    gemm_split_sm90a(const In* __restrict__ a,
                     const In* __restrict__ b,
                     const In* __restrict__ bias,
                     const Out* __restrict__ residual,
                     Out* __restrict__ c,
                     int batch,
                     int m,
                     int n,
                     int k) {
  using Memory = SplitMemory<TileM, TileN, Stages>;
  constexpr int threads = 2 * TileM;        // of consumers
  constexpr int pitch = TileN + 8;          // of sums in shared memory, so that rows begin in other banks
  constexpr int share = (TileM + Split - 1) / Split;  // rows of C that a block adds up, at most
  static_assert((TileM + (Split - 1) * share) * pitch * 4 <= Stages * (TileM + TileN) * kTileK * 2, "room for the sums");
  Memory& memory = dynamic_shared_memory<Memory>();
  auto& pipeline = memory.pipeline;
  // When the stages are done with: this block's sums, and then those that the others send for its rows.
  float* const partial = reinterpret_cast<float*>(&memory);
  float* const received = partial + TileM * pitch;
  const int block = Split > 1 ? block_of_cluster() : 0;
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;

  const int rows = (m + TileM - 1) / TileM, columns = (n + TileN - 1) / TileN;
  const int index = blockIdx.x / Split, matrix = index / (rows * columns);
  const int row = index % rows * TileM, column = index / rows % columns * TileN;
  const int steps = (k + kTileK - 1) / kTileK;
  const int first = steps * block / Split, end = steps * (block + 1) / Split;
  const In* const from_a = a + static_cast<long long>(matrix) * m * k;
  const In* const from_b = b + static_cast<long long>(matrix) * n * k;
  const bool copied = pipeline.template can_copy<In, IsWeights>(a, b, n, k);
  if (threadIdx.x == threads) {
    initialise(&memory.arrived, 1);
    pipeline.template initialise<1, 64>(copied, m);
  }
  __syncthreads();
  Ring<Stages> ring;

  if (warp >= threads / 32) {
    if (!copied) {
      for (int i = first; i < end; ++i, ring.advance()) {
        wait(&pipeline.empty[ring.stage], ring.parity ^ 1);
        pipeline.template load<In, IsWeights, 64>(threadIdx.x - threads, ring.stage, from_a, from_b, m, n, k, row,
                                                  column, i * kTileK);
      }
    } else {
      pipeline.template make_maps<In, IsWeights, 1>(warp - threads / 32, a, b, batch, m, n, k);
      asm volatile("bar.sync 2, 64;" ::: "memory");
      if (threadIdx.x == threads) {
        const auto source = pipeline.source();
        for (int i = first; i < end; ++i, ring.advance()) {
          wait(&pipeline.empty[ring.stage], ring.parity ^ 1);
          pipeline.template copy<IsWeights, 1>(source, ring.stage, matrix, row, column, i * kTileK, 0);
        }
      }
    }
    __syncwarp();
    if constexpr (Split > 1) synchronise_cluster();
  } else {
    const int group = warp / 4;
    float sums[1][TileN / 2];
#pragma unroll
    for (int i = 0; i < TileN / 2; ++i) sums[0][i] = 0.0f;
    int last = 0;
    for (int i = first; i < end; ++i, ring.advance()) {
      wait(&pipeline.full[ring.stage], ring.parity);
      pipeline.template multiply<In, IsWeights, 1>(sums, ring.stage, group, true);
      warpgroup_wait<1>();
      if (i > first && threadIdx.x % 128 == 0) arrive(&pipeline.empty[last]);
      last = ring.stage;
    }
    warpgroup_wait<0>();
    // All warpgroups are done with the stages, where the sums go now; and so are, below, those of the other blocks.
    pipeline.meet_consumers();
    if constexpr (Split > 1) come_to_cluster();
    const int height = min(TileM, m - row);
    const auto begin_of = [&](int of) { return min(height, of * share); };
    const int own = begin_of(block), count = begin_of(block + 1) - own;
    if (Split > 1 && threadIdx.x == 0) arrive_and_expect(&memory.arrived, (Split - 1) * count * pitch * 4);
    const int warp_row = group * 64 + warp % 4 * 16;
    if (warp_row < height) {
#pragma unroll
      for (int i = 0; i < TileN / 2; i += 2) {
        const int at = warp_row + lane / 4 + i / 2 % 2 * 8, to = i / 4 * 8 + lane % 4 * 2;
        *reinterpret_cast<float2*>(&partial[at * pitch + to]) = float2{sums[0][i], sums[0][i + 1]};
      }
    }
    if constexpr (Split > 1) {
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      wait_for_cluster();
      pipeline.meet_consumers();
      if (threadIdx.x < Split && threadIdx.x != block) {
        const int to = threadIdx.x, begin = begin_of(to), bytes = (begin_of(to + 1) - begin) * pitch * 4;
        float* const place = received + (block < to ? block : block - 1) * share * pitch;
        if (bytes > 0) send_to_block(place, partial + begin * pitch, bytes, &memory.arrived, to);
      }
      __syncwarp();
      wait(&memory.arrived, 0);
    } else {
      pipeline.meet_consumers();
    }
    const bool packs =
        n % 4 == 0 && ((reinterpret_cast<unsigned long long>(c) | reinterpret_cast<unsigned long long>(residual)) %
                       (4 * sizeof(Out))) == 0;
    constexpr int pieces = TileN / 4;  // of a row
#pragma unroll 2
    for (int unit = threadIdx.x; unit < count * pieces; unit += threads) {
      const int at = unit / pieces, piece = unit % pieces * 4, from = column + piece;
      if (from >= n) continue;
      float values[4];
      memcpy(values, &partial[(own + at) * pitch + piece], sizeof(values));
#pragma unroll
      for (int other = 0; other < Split - 1; ++other) {
        const float4 more = *reinterpret_cast<const float4*>(&received[(other * share + at) * pitch + piece]);
        values[0] += more.x, values[1] += more.y, values[2] += more.z, values[3] += more.w;
      }
      const long long place = (static_cast<long long>(matrix) * m + row + own + at) * n + from;
      Out results[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (from + j < n) {
          if (bias != nullptr) values[j] += static_cast<float>(bias[from + j]);
          if (residual != nullptr) values[j] += static_cast<float>(residual[place + j]);
        }
        results[j] = static_cast<Out>(Activation::template of<Out>(values[j]));
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
  // No block ends while its sums may still be on their way to others.
  if constexpr (Split > 1) {
    meet_cluster();
  } else {
    __syncthreads();
  }
  pipeline.give_back_maps();
}

}  // namespace cuda_kernels
