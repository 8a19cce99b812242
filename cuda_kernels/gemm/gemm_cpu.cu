// C = act(A B + bias + residual) as in gemm_sm80.cu, for CPUs: the implementation for the target `cpu`. Tensor cores are
// emulated there; a CPU is good at adjacent lanes that multiply and add f32. There a warp is one thread whose registers
// are vectors of 32 numbers, and shared memory is the part of the cache that a block works in.
//
// A block computes a tile of C, 8 * Warps rows high and 32 columns wide, along k in steps of TileK:
//   - A step's tiles of A and B go to shared memory as f32, B as rows of 32 columns whatever its layout: conversion and
//     bounds are handled once, for all rows of the tile. Both are read contiguously. Weights, [n, k], are transposed on
//     the way, number by number, which is the most expensive part: so tiles are high.
//   - Each warp then accumulates 8 rows: a vector of B for 8 numbers of A that all lanes share.
//
// For few rows that would be mostly transposing B. So `gemm_few_rows_cpu` reads B once, where it lies, for up to 4
// rows at a time: of weights, lanes take neighbours of k, and their sums are added up at the end.
//
// Memory traffic: A is read by n / 32 blocks, all but the first from the cache, and B by m / (8 * Warps).

#include "../include/activation.cuh"
#include "../include/add_product.cuh"
#include "../include/pack.cuh"

namespace cuda_kernels {

constexpr int kLanes = 32, kRows = 8;  // of a warp's part of a tile
constexpr int kFewRows = 4, kFewColumns = 4;

template <class Activation, class In, class Out>
__device__ __forceinline__ void finish(float value, const In* bias, const Out* residual, Out* c, int column,
                                       long long at) {
  if (bias != nullptr) value += static_cast<float>(bias[column]);
  if (residual != nullptr) value += static_cast<float>(residual[at]);
  c[at] = static_cast<Out>(Activation::template of<Out>(value));
}

template <class In, class Out, class Activation, bool IsWeights, int Warps, int TileK>
__global__ void __launch_bounds__(kLanes * Warps) gemm_cpu(const In* __restrict__ a,
                                                           const In* __restrict__ b,
                                                           const In* __restrict__ bias,
                                                           const Out* __restrict__ residual,
                                                           Out* __restrict__ c,
                                                           int batch,
                                                           int m,
                                                           int n,
                                                           int k) {
  constexpr int tile_m = Warps * kRows;
  __shared__ float of_a[tile_m][TileK], of_b[TileK][kLanes];
  const int tiles_m = (m + tile_m - 1) / tile_m, tiles_n = (n + kLanes - 1) / kLanes;
  const int tile = blockIdx.x % (tiles_m * tiles_n), number = blockIdx.x / (tiles_m * tiles_n);
  const int first_m = tile / tiles_n * tile_m, first_n = tile % tiles_n * kLanes;
  const int rows = min(m - first_m, tile_m), columns = min(n - first_n, kLanes);
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes, row = warp * kRows;
  a += (static_cast<long long>(number) * m + first_m) * k;
  b += static_cast<long long>(number) * n * k;

  float sums[kRows] = {};
#pragma unroll 1
  for (int at = 0; at < k; at += TileK) {
    const int depth = min(k - at, TileK);
#pragma unroll 1
    for (int i = row; i < min(row + kRows, rows); ++i) {
      const In* const from = a + static_cast<long long>(i) * k + at;
#pragma unroll
      for (int d = lane; d < TileK; d += kLanes) of_a[i][d] = d < depth ? static_cast<float>(from[d]) : 0.0f;
    }
    if constexpr (IsWeights) {
#pragma unroll 1
      for (int j = warp; j < kLanes; j += Warps) {
        const In* const from = b + static_cast<long long>(first_n + j) * k + at;
#pragma unroll
        for (int d = lane; d < TileK; d += kLanes)
          of_b[d][j] = j < columns && d < depth ? static_cast<float>(from[d]) : 0.0f;
      }
    } else {
#pragma unroll 1
      for (int d = warp; d < TileK; d += Warps) {
        const In* const from = b + static_cast<long long>(at + d) * n + first_n;
        of_b[d][lane] = d < depth && lane < columns ? static_cast<float>(from[lane]) : 0.0f;
      }
    }
    __syncthreads();
    if (row < rows) {
#pragma unroll 4
      for (int d = 0; d < TileK; ++d) {
        const float right = of_b[d][lane];
#pragma unroll
        for (int i = 0; i < kRows; ++i) add_product(sums[i], of_a[row + i][d], right);
      }
    }
    __syncthreads();
  }
  // Through memory, so that the code that follows is emitted once. A thread reads what it wrote.
#pragma unroll
  for (int i = 0; i < kRows; ++i) of_a[row + i][lane] = sums[i];
  if (lane >= columns) return;
#pragma unroll 1
  for (int i = row; i < min(row + kRows, rows); ++i)
    finish<Activation>(of_a[i][lane], bias, residual, c, first_n + lane,
                       (static_cast<long long>(number) * m + first_m + i) * n + first_n + lane);
}

// The sums of `Rows` rows of A, from its element `d` of k on, and columns of B; of weights, of a lane's own `d`.
template <bool IsWeights, int Rows, class In>
__device__ __forceinline__ void add_few(float (&sums)[Rows][kFewColumns], const In* a, const In* b, int column, int d,
                                        int n, int k, bool is_there, bool is_whole) {
  float left[Rows];
#pragma unroll
  for (int i = 0; i < Rows; ++i) left[i] = is_there ? static_cast<float>(a[static_cast<long long>(i) * k + d]) : 0.0f;
#pragma unroll
  for (int j = 0; j < kFewColumns; ++j) {
    const int of_n = IsWeights ? min(column + j, n - 1) : column + j * kLanes;
    float right = 0.0f;
    if (is_there && (is_whole || of_n < n))
      right = static_cast<float>(IsWeights ? b[static_cast<long long>(of_n) * k + d]
                                           : b[static_cast<long long>(d) * n + of_n]);
#pragma unroll
    for (int i = 0; i < Rows; ++i) add_product(sums[i][j], left[i], right);
  }
}

template <class Activation, bool IsWeights, int Rows, class In, class Out>
__device__ __forceinline__ void compute_few(const In* a, const In* b, const In* bias, const Out* residual, Out* c,
                                            int first_n, int n, int k) {
  constexpr int width = IsWeights ? kFewColumns : kFewColumns * kLanes;
  const int lane = threadIdx.x;
  float sums[Rows][kFewColumns] = {};
  if constexpr (IsWeights) {
    int at = 0;
#pragma unroll 1
    for (; at + kLanes <= k; at += kLanes) add_few<true>(sums, a, b, first_n, at + lane, n, k, true, true);
    if (at < k) add_few<true>(sums, a, b, first_n, at + lane, n, k, at + lane < k, true);
  } else if (first_n + width <= n) {
#pragma unroll 1
    for (int d = 0; d < k; ++d) add_few<false>(sums, a, b, first_n + lane, d, n, k, true, true);
  } else {
#pragma unroll 1
    for (int d = 0; d < k; ++d) add_few<false>(sums, a, b, first_n + lane, d, n, k, true, false);
  }
  // Through memory, so that the code that follows is emitted once.
  constexpr int values = Rows * kFewColumns;
  __shared__ float kept[values][kLanes];
#pragma unroll
  for (int i = 0; i < values; ++i) kept[i][lane] = sums[i / kFewColumns][i % kFewColumns];
  if constexpr (IsWeights) {  // each lane adds all lanes' parts of one sum
    __syncwarp();
    const int which = lane % values, i = which / kFewColumns, column = first_n + which % kFewColumns;
    float value = 0.0f;
#pragma unroll 4
    for (int d = 0; d < kLanes; ++d) value += kept[which][d];
    if (lane < values && column < n)
      finish<Activation>(value, bias, residual, c, column, static_cast<long long>(i) * n + column);
    __syncwarp();
  } else {
#pragma unroll 1
    for (int each = 0; each < values; ++each) {
      const int i = each / kFewColumns, column = first_n + each % kFewColumns * kLanes + lane;
      if (column < n)
        finish<Activation>(kept[each][lane], bias, residual, c, column, static_cast<long long>(i) * n + column);
    }
  }
}

// All rows of C. A block has kFewColumns columns of weights, or as many times 32 columns of a matrix.
template <class In, class Out, class Activation, bool IsWeights>
__global__ void __launch_bounds__(kLanes) gemm_few_rows_cpu(const In* __restrict__ a,
                                                            const In* __restrict__ b,
                                                            const In* __restrict__ bias,
                                                            const Out* __restrict__ residual,
                                                            Out* __restrict__ c,
                                                            int batch,
                                                            int m,
                                                            int n,
                                                            int k) {
  constexpr int width = IsWeights ? kFewColumns : kFewColumns * kLanes;
  const int blocks = (n + width - 1) / width, number = blockIdx.x / blocks, first_n = blockIdx.x % blocks * width;
  b += static_cast<long long>(number) * n * k;
  int rows = 0;
#pragma unroll 1
  for (int row = 0; row < m; row += rows) {
    const long long before = static_cast<long long>(number) * m + row;
    const In* const of_a = a + before * k;
    const Out* const of_residual = residual == nullptr ? nullptr : residual + before * n;
    rows = m - row < kFewRows ? 1 : kFewRows;
    if (rows == 1) {
      compute_few<Activation, IsWeights, 1>(of_a, b, bias, of_residual, c + before * n, first_n, n, k);
    } else {
      compute_few<Activation, IsWeights, kFewRows>(of_a, b, bias, of_residual, c + before * n, first_n, n, k);
    }
  }
}

}  // namespace cuda_kernels
