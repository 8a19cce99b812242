// The epilogue of gemm_multistage_sm90a.cu and gemm_split_sm90a.cu, whose wgmmas compute a tile of C transposed:
// #include "../include/transposed_tile.cuh".
#pragma once

#include "cluster.cuh"
#include "pack.cuh"
#include "tile.cuh"
#include "wgmma.cuh"

namespace cuda_kernels {

// Of sums in shared memory, in floats: neither stores across nor loads along a row conflict.
template <int TileN>
constexpr int kPitch = TileN + 4;

// Stores a tile of 16 bits without a residual: through the activation, and packed, transposed by stmatrix.
template <int TileM, int TileN, class Activation, class In, class Out, class Tile>
__device__ __forceinline__ void store_packed(const Activation& activation, Out* packed, const float (&accumulators)[TileM / 2],
                                             const In* bias, Out* c, const Tile& tile, int m, int n) {
  static_assert(TileM % 16 == 0, "what stmatrix stores at once");
  constexpr int pitch = TileN + kPack<Out>, threads = 2 * TileN, pieces = TileN / kPack<Out>;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, height = min(TileM, m - tile.m);
  if (threadIdx.x < threads) {
    float of_bias[2] = {};
    int columns[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      columns[half] = tile.n + warp * 16 + lane / 4 + half * 8;
      if (bias != nullptr && columns[half] < n) of_bias[half] = static_cast<float>(bias[columns[half]]);
      columns[half] = min(columns[half], n - 1);
    }
    const unsigned to = shared_address(packed + (lane / 16 * 8 + lane % 8) * pitch + warp * 16 + lane / 8 % 2 * 8);
#pragma unroll
    for (int i = 0; i < TileM / 8; i += 2) {
      if (i * 8 >= height) break;
      unsigned both[4];
#pragma unroll
      for (int e = 0; e < 4; ++e)
        both[e] = packed_pair<Out>(activation.template of<Out>(accumulators[4 * i + 2 * e] + of_bias[e % 2], columns[e % 2]),
                                   activation.template of<Out>(accumulators[4 * i + 2 * e + 1] + of_bias[e % 2], columns[e % 2]));
      asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                       to + static_cast<unsigned>(i * 8 * pitch * sizeof(Out))),
                   "r"(both[0]), "r"(both[1]), "r"(both[2]), "r"(both[3])
                   : "memory");
    }
  }
  __syncthreads();
  if (threadIdx.x >= threads) return;
  const long long begin = (static_cast<long long>(tile.number) * m + tile.m) * n + tile.n;
  const int width = min(TileN, n - tile.n);
  if (aligned(c) && n % kPack<Out> == 0) {
    const int piece = threadIdx.x % pieces * kPack<Out>;
    if (piece >= width) return;
#pragma unroll 4
    for (int row = threadIdx.x / pieces; row < height; row += threads / pieces)
      *reinterpret_cast<uint4*>(c + begin + static_cast<long long>(row) * n + piece) =
          *reinterpret_cast<const uint4*>(packed + row * pitch + piece);
    return;
  }
  // An element a thread: what a warp stores at once is adjacent.
  const int piece = threadIdx.x % TileN;
  if (piece >= width) return;
#pragma unroll 4
  for (int row = threadIdx.x / TileN; row < height; row += threads / TileN)
    c[begin + static_cast<long long>(row) * n + piece] = packed[row * pitch + piece];
}

// Reduces the accumulators of the SplitK blocks that share the k of a tile, TileM rows of TileN columns of C, and stores it:
// through shared memory, where each block has its sums, transposed. Each reduces a part of the rows, in the order of the
// blocks. The first 2 * TileN threads have accumulators; all call. Blocks are `apart` apart in the cluster, from `base` on.
template <int TileM, int TileN, int SplitK, class Activation, class In, class Out, class Tile>
__device__ __forceinline__ void store_tile(const Activation& activation, float* sums, const float (&accumulators)[TileM / 2],
                                           const In* bias, const Out* residual, Out* c, const Tile& tile, int m, int n,
                                           int block, int base, int apart) {
  constexpr int pitch = kPitch<TileN>, threads = 2 * TileN;
  if constexpr (sizeof(Out) == 2 && SplitK == 1) {
    if (residual == nullptr) {
      store_packed<TileM, TileN>(activation, reinterpret_cast<Out*>(sums), accumulators, bias, c, tile, m, n);
      return;
    }
  }
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, height = min(TileM, m - tile.m);
  if (threadIdx.x < threads) {
#pragma unroll
    for (int i = 0; i < TileM / 8; ++i) {
      if (i * 8 >= height) break;
#pragma unroll
      for (int e = 0; e < 4; ++e)
        sums[(i * 8 + lane % 4 * 2 + e % 2) * pitch + warp * 16 + e / 2 * 8 + lane / 4] = accumulators[4 * i + e];
    }
  }
  if constexpr (SplitK > 1) {
    cluster_sync();
  } else {
    __syncthreads();
  }
  const int own = height * block / SplitK, end = height * (block + 1) / SplitK;
  const auto place = [&](int row, int column) { return (static_cast<long long>(tile.number) * m + tile.m + row) * n + column; };
  if (threadIdx.x < threads && aligned(bias, residual, c) && n % kUnit == 0) {
    constexpr int pieces = TileN / kUnit, at_once = threads / pieces;  // of a row; rows
    const int piece = threadIdx.x % pieces * kUnit, column = tile.n + piece;
    float of_bias[kUnit] = {};
    if (bias != nullptr && column < n) load_unit(bias + column, of_bias);
#pragma unroll(SplitK > 2 ? 1 : 4 / SplitK)
    for (int row = own + threadIdx.x / pieces; row < end && column < n; row += at_once) {
      float values[kUnit];
      const float* const from = &sums[row * pitch + piece];
      if constexpr (SplitK > 1) {
        float parts[SplitK][kUnit];
#pragma unroll
        for (int other = 0; other < SplitK; ++other)
#pragma unroll
          for (int e = 0; e < kUnit; e += 4) load_of_block(from + e, base + other * apart, parts[other] + e);
#pragma unroll
        for (int e = 0; e < kUnit; ++e) {
          values[e] = parts[0][e];
#pragma unroll
          for (int other = 1; other < SplitK; ++other) values[e] += parts[other][e];
        }
      } else {
        load_unit(from, values);
      }
#pragma unroll
      for (int e = 0; e < kUnit; ++e) values[e] += of_bias[e];
      if (residual != nullptr) {
        float others[kUnit];
        load_unit(residual + place(row, column), others);
        for (int e = 0; e < kUnit; ++e) values[e] = activation.joined(values[e], others[e], column + e);
      }
      for (int e = 0; e < kUnit; ++e) values[e] = activation.template of<Out>(values[e], column + e);
      store_unit(c + place(row, column), values);
    }
  } else if (threadIdx.x < threads) {
    // An element a thread: what a warp stores at once is adjacent.
    const int piece = threadIdx.x % TileN, column = tile.n + piece;
    const float of_bias = bias != nullptr && column < n ? static_cast<float>(bias[column]) : 0.0f;
#pragma unroll(SplitK > 2 ? 1 : 4 / SplitK)
    for (int row = own + threadIdx.x / TileN; row < end && column < n; row += threads / TileN) {
      const float& from = sums[row * pitch + piece];
      float value = from;
      if constexpr (SplitK > 1) {
        float parts[SplitK];
#pragma unroll
        for (int other = 0; other < SplitK; ++other) parts[other] = from_block(from, base + other * apart);
        value = parts[0];
#pragma unroll
        for (int other = 1; other < SplitK; ++other) value += parts[other];
      }
      value += of_bias;
      if (residual != nullptr) value = activation.joined(value, static_cast<float>(residual[place(row, column)]), column);
      c[place(row, column)] = static_cast<Out>(activation.template of<Out>(value, column));
    }
  }
  // A block must not exit while others read its sums.
  if constexpr (SplitK > 1) cluster_meet();
}

// Issues the wgmmas of 64 columns of C and TileM rows, over 64 of k: of weights, rows of 128 bytes at `b`, else one box.
template <class In, bool IsWeights, int TileM>
__device__ __forceinline__ void multiply_transposed(float (&accumulators)[TileM / 2], const unsigned char* b, const unsigned char* a) {
  const unsigned long long left = IsWeights ? descriptor_k_major(b) : descriptor_mn_major(b, 64 * 128);
  const unsigned long long right = descriptor_k_major(a);
  warpgroup_arrive();
#pragma unroll
  for (int i = 0; i < kTileK / 16; ++i)
    wgmma<In, TileM, !IsWeights, 0>(accumulators, left + i * (IsWeights ? 2 : 128), right + i * 2, 1);
  warpgroup_commit();
}

}  // namespace cuda_kernels
