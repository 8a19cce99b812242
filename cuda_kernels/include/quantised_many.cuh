// Products of many rows of x with quantised weights, y = x W^T: what the kernels for warpgroups and for warps share, to be
// included by them: #include "../include/quantised_many.cuh". The weights are A and x is B, so a tile is one of y^T:
//
//   W [n, k]  a tile's rows, 64 of k:  bytes as they are  ->  stage  ->  registers  ->  floats, A   \
//   x [m, k]  a tile's rows, 64 of k:  128 bytes each     ->  stage, swizzled       ->            B   -> y^T in f32
#pragma once

#include "quantised_formats.cuh"

namespace cuda_kernels {

// Tiles in bands of so many columns of y^T, so that blocks that run at the same time share rows of x and of W.
struct ManyTiles {
  static constexpr int kBand = 8;
  int rows, columns;

  __device__ __forceinline__ ManyTiles(int n, int m, int tile_rows, int tile_columns)
      : rows((n + tile_rows - 1) / tile_rows), columns((m + tile_columns - 1) / tile_columns) {}
  __device__ __forceinline__ int count() const { return rows * columns; }
  __device__ __forceinline__ void place(int index, int& row, int& column) const {
    const int band = index / (kBand * rows), height = min(kBand, columns - band * kBand);
    index -= band * kBand * rows;
    row = index / height, column = band * kBand + index % height;
  }
};

// Where 16 bytes of a row of 128 are: TMA's 128-byte swizzle, which puts eight rows into different banks.
__device__ __forceinline__ int swizzled(int row, int chunk) { return row * 128 + (chunk ^ row % 8) * 16; }

// Copies steps of a tile to stages, by `Threads` threads. Rows past the end repeat the last row of W, and are zeros of x;
// past the end of k everything is zeros.
template <class Format, int Rows, int Columns, int Threads>
struct StageCopier {
  using T = typename Format::Element;
  static constexpr int kWeightBytes = Rows * Format::kPitch;
  const T* x;
  const unsigned char* weights;
  size_t pitch;  // bytes of a row of W
  int k, columns_left, rows_left;
  bool whole;    // whether all pieces are at multiples of their sizes

  __device__ __forceinline__ StageCopier(const T* x_from, const typename Format::Weights& of)
      : pitch(Format::row_bytes(of)), k(of.k) {
    whole = aligned(x_from) &&
            ((reinterpret_cast<unsigned long long>(of.bytes) | pitch) & (Format::kUnit - 1)) == 0;
  }

  __device__ __forceinline__ void start(const T* x_from, const typename Format::Weights& of, int m, int row, int column) {
    x = x_from + static_cast<size_t>(column) * k;
    row = min(row, of.n - 1);  // a block of a cluster may have no row
    weights = of.bytes + static_cast<size_t>(row) * pitch;
    columns_left = m - column, rows_left = of.n - row;
  }

  __device__ __forceinline__ void copy_weights(int thread, int step, unsigned char* to_weights) const {
    constexpr int pieces = Rows * Format::kUnits, kTurns = (pieces + Threads - 1) / Threads;
    const unsigned to = shared_address(to_weights);
#pragma unroll (kTurns <= 4 ? kTurns : 3)
    for (int i = 0; i < kTurns; ++i) {
      const int piece = thread + i * Threads, row = piece / Format::kUnits, unit = piece % Format::kUnits;
      const size_t at = Format::offset(step, unit);
      const bool there = at < pitch;
      if (pieces % Threads == 0 || piece < pieces)
        cp_async<Format::kUnit>(to + row * Format::kPitch + unit * Format::kUnit,
                                there ? weights + min(row, rows_left - 1) * pitch + at : weights,
                                there ? Format::kUnit : 0);
    }
  }

  __device__ __forceinline__ void copy_x(int thread, int step, unsigned char* to_x) const {
    const unsigned place = shared_address(to_x);
#pragma unroll 4
    for (int i = 0; i < (Columns * 8 + Threads - 1) / Threads; ++i) {
      const int piece = thread + i * Threads, column = piece / 8, chunk = piece % 8, at = step * kStepK + 8 * chunk;
      const bool there = column < columns_left && at < k;
      if (Columns * 8 % Threads == 0 || column < Columns)
        cp_async(place + swizzled(column, chunk), there ? x + static_cast<size_t>(column) * k + at : x, there ? 16 : 0);
    }
  }

  // The same byte by byte, where `whole` is not.
  __device__ __forceinline__ void copy_any(int thread, int step, unsigned char* to_x, unsigned char* to_weights) const {
#pragma unroll 1
    for (int piece = thread; piece < Rows * Format::kUnits; piece += Threads) {
      const int row = piece / Format::kUnits, unit = piece % Format::kUnits;
      const size_t at = Format::offset(step, unit);
      const unsigned char* const from = weights + min(row, rows_left - 1) * pitch + at;
#pragma unroll 1
      for (int i = 0; i < Format::kUnit; ++i)
        to_weights[row * Format::kPitch + unit * Format::kUnit + i] = at + i < pitch ? from[i] : 0;
    }
#pragma unroll 1
    for (int piece = thread; piece < Columns * 8; piece += Threads) {
      const int column = piece / 8, chunk = piece % 8, at = step * kStepK + 8 * chunk;
      const bool there = column < columns_left && at < k;
      *reinterpret_cast<uint4*>(to_x + swizzled(column, chunk)) =
          load_elements(there ? x + static_cast<size_t>(column) * k + at : x, there ? 8 : 0);
    }
  }
};

// Stores 8 rows of W of one row of x, from shared memory.
template <class T>
__device__ __forceinline__ void store_eight(T* __restrict__ y, uint4 bits, int row, int n, bool packs) {
  if (packs) {
    *reinterpret_cast<uint4*>(y + row) = bits;
  } else {
    T values[8];
    memcpy(values, &bits, sizeof(values));
#pragma unroll
    for (int e = 0; e < 8; ++e)
      if (row + e < n) y[row + e] = values[e];
  }
}

}  // namespace cuda_kernels
