// The epilogue of gemm_multistage_sm90a.cu and gemm_split_sm90a.cu, whose wgmmas compute a tile of C transposed:
// #include "../include/transposed_tile.cuh".
#pragma once

#include "cluster.cuh"
#include "tile.cuh"
#include "wgmma.cuh"

namespace cuda_kernels {

// Of sums in shared memory, in floats: neither stores across nor loads along a row conflict.
template <int TileN>
constexpr int kPitch = TileN + 4;

// Reduces the accumulators of the SplitK blocks that share the k of a tile, TileM rows of TileN columns of C, and stores it:
// through shared memory, where each block has its sums, transposed. Each reduces a part of the rows, in the order of the
// blocks. The first 2 * TileN threads have accumulators; all call. Blocks are `apart` apart in the cluster, from `base` on.
template <class Activation, int TileM, int TileN, int SplitK, class In, class Out, class Tile>
__device__ __forceinline__ void store_tile(float* sums, const float (&accumulators)[TileM / 2], const In* bias, const Out* residual,
                                           Out* c, const Tile& tile, int m, int n, int block, int base, int apart) {
  constexpr int pitch = kPitch<TileN>, threads = 2 * TileN;
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
  constexpr int pieces = TileN / kUnit, at_once = threads / pieces;  // of a row; rows
  const int piece = threadIdx.x % pieces * kUnit, column = tile.n + piece;
  const int own = height * block / SplitK, end = height * (block + 1) / SplitK;
  if (threadIdx.x < threads && column < n) {
    const bool whole = aligned(bias, residual, c) && n % kUnit == 0;
    float of_bias[kUnit] = {};
    if (bias != nullptr) {
#pragma unroll
      for (int e = 0; e < kUnit; ++e)
        if (whole || column + e < n) of_bias[e] = static_cast<float>(bias[column + e]);
    }
    const auto sum = [&](int row, float* values) {
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
    };
    const auto place = [&](int row) { return (static_cast<long long>(tile.number) * m + tile.m + row) * n + column; };
    int row = own + threadIdx.x / pieces;
    if (whole) {
#pragma unroll(SplitK > 2 ? 1 : 4 / SplitK)
      for (; row < end; row += at_once) {
        float values[kUnit];
        sum(row, values);
        if (residual != nullptr) {
          float others[kUnit];
          load_unit(residual + place(row), others);
          for (int e = 0; e < kUnit; ++e) values[e] += others[e];
        }
        for (int e = 0; e < kUnit; ++e) values[e] = Activation::template of<Out>(values[e]);
        store_unit(c + place(row), values);
      }
    } else {
#pragma unroll 1
      for (; row < end; row += at_once) {
        float values[kUnit];
        sum(row, values);
#pragma unroll
        for (int e = 0; e < kUnit; ++e) {
          if (column + e >= n) break;
          if (residual != nullptr) values[e] += static_cast<float>(residual[place(row) + e]);
          c[place(row) + e] = static_cast<Out>(Activation::template of<Out>(values[e]));
        }
      }
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
