// Tiles of products on CPUs, for kernels of other forms of products: #include "../include/product_cpu.cuh".
// The idea is in gemm_cpu.cu.
#pragma once

#include "activation.cuh"
#include "add_product.cuh"
#include "mma.cuh"
#include "pack.cuh"

namespace cuda_kernels {

constexpr int kLanes = 32, kRows = 8;  // of a warp's part of a tile
constexpr int kFewRows = 4, kFewColumns = 4;

// A number of f32 that products see rounded to TF32, as on a GPU's tensor cores.
struct RoundedToTf32 {
  float value;
  __device__ __forceinline__ explicit operator float() const { return __uint_as_float(rounded_to_tf32(value)); }
};

// Writes act(sum + bias + residual), of the rows of C from `c` on, as wide as `n`.
template <class Activation, class Bias, class Out>
struct Finish {
  const Bias* bias;
  const Out* residual;
  Out* c;
  int n;
  Activation activation;

  __device__ __forceinline__ void operator()(float value, int row, int column) const {
    const long long at = static_cast<long long>(row) * n + column;
    if (bias != nullptr) value += static_cast<float>(bias[column]);
    if (residual != nullptr) value = activation.joined(value, static_cast<float>(residual[at]), column);
    c[at] = static_cast<Out>(activation.template of<Out>(value, column));
  }
};

// A tile of C, `rows` x `columns` of 8 * Warps x 32, from its rows of A and from B; its first column is first_n. Calls
// `finish(sum, row of the tile, column)` for each.
template <bool IsWeights, int Warps, int TileK, class Left, class Right, class Finish>
__device__ __forceinline__ void compute_tile(const Left* a, const Right* b, int first_n, int rows, int n, int k,
                                             const Finish& finish) {
  constexpr int tile_m = Warps * kRows;
  __shared__ float of_a[tile_m][TileK], of_b[TileK][kLanes];
  const int columns = min(n - first_n, kLanes);
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes, row = warp * kRows;

  float sums[kRows] = {};
#pragma unroll 1
  for (int at = 0; at < k; at += TileK) {
    const int depth = min(k - at, TileK);
#pragma unroll 1
    for (int i = row; i < min(row + kRows, rows); ++i) {
      const Left* const from = a + static_cast<long long>(i) * k + at;
#pragma unroll
      for (int d = lane; d < TileK; d += kLanes) of_a[i][d] = d < depth ? static_cast<float>(from[d]) : 0.0f;
    }
    if constexpr (IsWeights) {
#pragma unroll 1
      for (int j = warp; j < kLanes; j += Warps) {
        const Right* const from = b + static_cast<long long>(first_n + j) * k + at;
#pragma unroll
        for (int d = lane; d < TileK; d += kLanes)
          of_b[d][j] = j < columns && d < depth ? static_cast<float>(from[d]) : 0.0f;
      }
    } else {
#pragma unroll 1
      for (int d = warp; d < TileK; d += Warps) {
        const Right* const from = b + static_cast<long long>(at + d) * n + first_n;
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
    finish(of_a[i][lane], i, first_n + lane);
}

// The sums of `Rows` rows of A, from its element `d` of k on, and columns of B; of weights, of a lane's own `d`.
template <bool IsWeights, int Rows, class Left, class Right>
__device__ __forceinline__ void add_few(float (&sums)[Rows][kFewColumns], const Left* a, const Right* b, int column, int d,
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

// The same for rows of C from the `first`-th on; `a` is the first's.
template <bool IsWeights, int Rows, class Left, class Right, class Finish>
__device__ __forceinline__ void compute_few(const Left* a, const Right* b, int first, int first_n, int n, int k,
                                            const Finish& finish) {
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
    if (lane < values && column < n) finish(value, first + i, column);
    __syncwarp();
  } else {
#pragma unroll 1
    for (int each = 0; each < values; ++each) {
      const int i = each / kFewColumns, column = first_n + each % kFewColumns * kLanes + lane;
      if (column < n) finish(kept[each][lane], first + i, column);
    }
  }
}

// All `m` rows of C, kFewColumns columns of weights, or as many times 32 columns of a matrix.
template <bool IsWeights, class Left, class Right, class Finish>
__device__ __forceinline__ void compute_few_rows(const Left* a, const Right* b, int first_n, int m, int n, int k,
                                                 const Finish& finish) {
  int rows = 0;
#pragma unroll 1
  for (int row = 0; row < m; row += rows) {
    const Left* const of_a = a + static_cast<long long>(row) * k;
    rows = m - row < kFewRows ? 1 : kFewRows;
    if (rows == 1) {
      compute_few<IsWeights, 1>(of_a, b, row, first_n, n, k, finish);
    } else {
      compute_few<IsWeights, kFewRows>(of_a, b, row, first_n, n, k, finish);
    }
  }
}

}  // namespace cuda_kernels
