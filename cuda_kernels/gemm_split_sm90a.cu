// C = act(A B + bias + residual) as in gemm_sm90a.cu, for so few rows of A that C has fewer tiles than the GPU has
// multiprocessors: the blocks of a cluster share the k of one tile, and add up through each other's shared memory.
//
//   block 0   steps 0 .. s          TMA -> ring -> wgmma -> sums |                | rows 0, 3, 6, ... of all blocks'
//   block 1   steps s .. 2 s        TMA -> ring -> wgmma -> sums | shared memory, | rows 1, 4, 7, ... sums, then
//   block 2   steps 2 s .. 3 s      TMA -> ring -> wgmma -> sums | cluster        | rows 2, 5, 8, ... bias and so on
//
// Memory traffic: one read of B. A is read by every cluster, from the L2 cache, and no more rows of it than there
// are; the sums go through shared memory, where the stages were.
#include "include/gemm_sm90a.cuh"

namespace cuda_kernels {

// Four floats of another block of the cluster, from where `place` is in this one.
__device__ __forceinline__ float4 read_of_block(const float* place, unsigned block) {
  float4 x;
  asm(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [remote];\n"
      "}"
      : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
      : "r"(shared_address(place)), "r"(block)
      : "memory");
  return x;
}

constexpr int kSplitThreads = 128 * kConsumers + 32;  // a warp of producers last

template <class In, class Out, class Activation, bool IsWeights, int TileN, int Stages, int Split>
__global__ void CUDA_KERNELS_CLUSTER(Split) __launch_bounds__(kSplitThreads, 1)
    gemm_split_sm90a(const In* __restrict__ a,
                     const In* __restrict__ b,
                     const In* __restrict__ bias,
                     const Out* __restrict__ residual,
                     Out* __restrict__ c,
                     int batch,
                     int m,
                     int n,
                     int k) {
  constexpr int pitch = TileN + 8;  // of sums in shared memory, so that rows begin in other banks
  using Memory = Pipeline<TileN, Stages>;
  static_assert(kTileM * pitch * 4 <= Stages * (Memory::kBytesA + Memory::kBytesB), "room for the sums");
  Memory& pipeline = dynamic_shared_memory<Memory>();
  float* const partial = reinterpret_cast<float*>(&pipeline);
  const int block = Split > 1 ? block_of_cluster() : 0;
  pipeline.template initialise<In, IsWeights, 1, 32>(a, b, batch, m, n, k);
  __syncthreads();

  const int rows = (m + kTileM - 1) / kTileM, columns = (n + TileN - 1) / TileN;
  const int index = blockIdx.x / Split, matrix = index / (rows * columns);
  const int row = index % rows * kTileM, column = index / rows % columns * TileN;
  const int steps = (k + kTileK - 1) / kTileK;
  const int first = steps * block / Split, end = steps * (block + 1) / Split;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Ring<Stages> ring;

  if (warp == 4 * kConsumers) {
    if (!pipeline.is_copied()) {
      for (int i = first; i < end; ++i, ring.advance()) {
        wait(&pipeline.empty[ring.stage], ring.parity ^ 1);
        pipeline.template load<In, IsWeights, 32>(lane, ring.stage, a + static_cast<long long>(matrix) * m * k,
                                              b + static_cast<long long>(matrix) * n * k, m, n, k, row, column,
                                              i * kTileK);
      }
    } else if (lane == 0) {
      acquire_tensor_map(pipeline.maps[0]);
      acquire_tensor_map(pipeline.maps[1]);
      for (int i = first; i < end; ++i, ring.advance()) {
        wait(&pipeline.empty[ring.stage], ring.parity ^ 1);
        pipeline.template copy<IsWeights, 1>(ring.stage, matrix, row, column, i * kTileK, 0);
      }
    }
    synchronise_cluster();
  } else {
    const int group = warp / 4;
    float sums[TileN / 2];
#pragma unroll
    for (int i = 0; i < TileN / 2; ++i) sums[i] = 0.0f;
    int last = 0;
    for (int i = first; i < end; ++i, ring.advance()) {
      wait(&pipeline.full[ring.stage], ring.parity);
      pipeline.template multiply<In, IsWeights>(sums, ring.stage, group, true);
      warpgroup_wait<1>();
      if (i > first && threadIdx.x % 128 == 0) arrive(&pipeline.empty[last]);
      last = ring.stage;
    }
    warpgroup_wait<0>();
    // Both warpgroups are done with the stages, where the sums go now.
    asm volatile("bar.sync 1, %0;" ::"n"(128 * kConsumers) : "memory");
    const int warp_row = group * 64 + warp % 4 * 16;
    if (row + warp_row < m) {
#pragma unroll
      for (int i = 0; i < TileN / 2; i += 2) {
        const int at = warp_row + lane / 4 + i / 2 % 2 * 8, to = i / 4 * 8 + lane % 4 * 2;
        *reinterpret_cast<float2*>(&partial[at * pitch + to]) = float2{sums[i], sums[i + 1]};
      }
    }
    synchronise_cluster();
    // Each block of the cluster adds up every Split-th row, four columns a thread.
    const bool packs =
        n % 4 == 0 && ((reinterpret_cast<unsigned long long>(c) | reinterpret_cast<unsigned long long>(residual)) %
                       (4 * sizeof(Out))) == 0;
    constexpr int pieces = TileN / 4;  // of a row
    constexpr int count = (kTileM * pieces + Split * 128 * kConsumers - 1) / (Split * 128 * kConsumers);
    constexpr int at_once = count < 4 ? count : 4;  // whose loads are issued before the first is used
#pragma unroll 1
    for (int start = threadIdx.x; start / pieces * Split + block < min(kTileM, m - row);
         start += at_once * 128 * kConsumers) {
      float values[at_once][4] = {};
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int unit = start + i * 128 * kConsumers, at = unit / pieces * Split + block;
        if (at < kTileM) {
#pragma unroll
          for (int other = 0; other < Split; ++other) {
            const float4 part = read_of_block(&partial[at * pitch + unit % pieces * 4], other);
            values[i][0] += part.x, values[i][1] += part.y, values[i][2] += part.z, values[i][3] += part.w;
          }
        }
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int unit = start + i * 128 * kConsumers, at = unit / pieces * Split + block;
        const int from = column + unit % pieces * 4;
        if (at >= kTileM || row + at >= m || from >= n) continue;
        const long long place = (static_cast<long long>(matrix) * m + row + at) * n + from;
        Out results[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (from + j < n) {
            if (bias != nullptr) values[i][j] += static_cast<float>(bias[from + j]);
            if (residual != nullptr) values[i][j] += static_cast<float>(residual[place + j]);
          }
          results[j] = static_cast<Out>(Activation::template of<Out>(values[i][j]));
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
  }
  // No block ends while others may still read its sums.
  meet_cluster();
  pipeline.give_back_maps();
}

}  // namespace cuda_kernels
