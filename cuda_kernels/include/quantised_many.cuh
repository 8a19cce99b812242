// Products of many rows of x with quantised weights, y = x W^T: what the kernels for warpgroups and for warps share, to be
// included by them: #include "../include/quantised_many.cuh". The weights are A and x is B, so a tile is one of y^T:
//
//   W [n, k]  a tile's rows, 64 of k:  bytes as they are  ->  stage  ->  registers  ->  floats, A   \
//   x [m, k]  a tile's rows, 64 of k:  128 bytes each     ->  stage, swizzled       ->            B   -> y^T in f32
#pragma once

#include "quantised_eights.cuh"

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
  static constexpr StageRow kRow = Format::template row<1>();
  const T* x;
  const unsigned char* weights;
  size_t pitch;  // bytes of a row of W
  int k, columns_left, rows_left;
  bool whole;    // whether all pieces are at multiples of their sizes

  __device__ __forceinline__ StageCopier(const T* x_from, const typename Format::Weights& of)
      : pitch(Format::row_bytes(of)), k(of.k) {
    whole = aligned(x_from) &&
            ((reinterpret_cast<unsigned long long>(of.bytes) | pitch) & (kRow.unit - 1)) == 0;
  }

  __device__ __forceinline__ void start(const T* x_from, const typename Format::Weights& of, int m, int row, int column) {
    x = x_from + static_cast<size_t>(column) * k;
    row = min(row, of.n - 1);  // a block of a cluster may have no row
    weights = of.bytes + static_cast<size_t>(row) * pitch;
    columns_left = m - column, rows_left = of.n - row;
  }

  __device__ __forceinline__ void copy_weights(int thread, int step, unsigned char* to_weights) const {
    constexpr int pieces = Rows * kRow.units, kTurns = (pieces + Threads - 1) / Threads;
    const unsigned to = shared_address(to_weights);
#pragma unroll (kTurns <= 4 ? kTurns : 3)
    for (int i = 0; i < kTurns; ++i) {
      const int piece = thread + i * Threads, row = piece / kRow.units, unit = piece % kRow.units;
      const size_t at = Format::template offset<1>(step, unit);
      const bool there = at < pitch;
      if (pieces % Threads == 0 || piece < pieces)
        cp_async<kRow.unit>(to + row * kRow.pitch + unit * kRow.unit,
                                there ? weights + min(row, rows_left - 1) * pitch + at : weights,
                                there ? kRow.unit : 0);
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
    for (int piece = thread; piece < Rows * kRow.units; piece += Threads) {
      const int row = piece / kRow.units, unit = piece % kRow.units;
      const size_t at = Format::template offset<1>(step, unit);
      const unsigned char* const from = weights + min(row, rows_left - 1) * pitch + at;
#pragma unroll 1
      for (int i = 0; i < kRow.unit; ++i)
        to_weights[row * kRow.pitch + unit * kRow.unit + i] = at + i < pitch ? from[i] : 0;
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

// For warpgroups: rows of W of a tile, and steps of a stage of W.
constexpr int kTileRows = 128, kWideSteps = 4;

// Copies stages of 256 of k of a tile's rows of W, by three warps. Past the last row, and past the end of k, all is zeros.
template <class Format>
struct WeightCopier {
  using T = typename Format::Element;
  static constexpr StageRow kRow = Format::template row<kWideSteps>();
  static constexpr int kThreads = 96, kBytes = kRow.unit * kRow.units;
  const typename Format::Weights& of;
  const unsigned char* weights;
  size_t pitch;  // bytes of a row of W
  int thread, row, rows_left, alignment;

  __device__ __forceinline__ WeightCopier(const typename Format::Weights& operands, int own)
      : of(operands), pitch(Format::row_bytes(operands)), thread(own) {
    alignment = static_cast<int>(reinterpret_cast<unsigned long long>(of.bytes) | pitch);
  }

  __device__ __forceinline__ void start(int tile_row) {
    row = min(tile_row, of.n - 1);
    rows_left = of.n - tile_row;
    weights = of.bytes + static_cast<size_t>(row) * pitch;
  }

  // Copies the scales or zeros of a stage's groups to the 16 bytes that follow each row: 8, if each 32 of k have their own;
  // fewer from the aligned 4 bytes on that have the first, if more share one.
  __device__ __forceinline__ void copy_numbers(const void* all, int stage, unsigned char* to) const {
    const int size = of.k / 32 / of.parts, first = 8 * stage / size, end = min((8 * stage + 7) / size + 1, of.parts);
    const auto address = reinterpret_cast<unsigned long long>(all);
    const bool words = size > 1 || ((address | 2 * of.parts) & 3) == 0;
    const int word = thread % 4, rows = min(rows_left, kTileRows);
    const size_t apart = 2 * static_cast<size_t>(of.parts);
    unsigned long long own = address + (row + thread / 4) * apart + 2 * first;
    unsigned place = shared_address(to) + thread / 4 * kRow.pitch + 4 * word;
#pragma unroll 1
    for (int at_row = thread / 4; at_row < kTileRows; at_row += kThreads / 4) {
      if (words) {
        const int at = 4 * word - static_cast<int>(own & 3);  // from the first number on
        const bool there = at_row < rows && at < 2 * (end - first);
        if (there && at_row + 1 == rows_left && 2 * (of.parts - first) - at < 4) {
          // The last number of all, alone in its word. A copy of 4 bytes of which 2 are read counts as one of 4 in
          // compute-sanitizer.
          const unsigned bits = __ldg(reinterpret_cast<const unsigned short*>(own + at));
          asm volatile("st.shared.u32 [%0], %1;" ::"r"(place), "r"(bits) : "memory");
        } else {
          cp_async<4>(place, reinterpret_cast<const void*>((there ? own + at : address) & ~3ull), there ? 4 : 0);
        }
      } else {
        const int group = first + 2 * word;
        const unsigned short* const from = reinterpret_cast<const unsigned short*>(own) + 2 * word;
        const unsigned low = at_row < rows && group < end ? __ldg(from) : 0;
        const unsigned high = at_row < rows && group + 1 < end ? __ldg(from + 1) : 0;
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(place), "r"(low | high << 16) : "memory");
      }
      own += kThreads / 4 * apart, place += kThreads / 4 * kRow.pitch;
    }
  }

  // The same of scales in f32, one a thread, to the 32 bytes that follow each row.
  __device__ __forceinline__ void copy_wide_numbers(const float* all, int stage, unsigned char* to) const {
    const int size = of.k / 32 / of.parts, first = 8 * stage / size, group = first + thread % 8;
    const bool wanted = group < min((8 * stage + 7) / size + 1, of.parts);
    const int rows = wanted ? rows_left : 0;
    const float* own = all + static_cast<size_t>(row + thread / 8) * of.parts + group;
    unsigned place = shared_address(to) + thread / 8 * kRow.pitch + 4 * (thread % 8);
#pragma unroll 1
    for (int at_row = thread / 8; at_row < kTileRows; at_row += kThreads / 8) {
      cp_async<4>(place, at_row < rows ? own : all, at_row < rows ? 4 : 0);
      own += static_cast<size_t>(kThreads / 8) * of.parts, place += kThreads / 8 * kRow.pitch;
    }
  }

  template <int Piece>
  __device__ __forceinline__ void copy_pieces(int stage, unsigned char* to) const {
    constexpr int pieces = kBytes / Piece, at_once = kThreads / pieces, turns = (kTileRows + at_once - 1) / at_once;
    const int first = thread / pieces, at = thread % pieces * Piece;
    const size_t of_row = static_cast<size_t>(stage) * kBytes + at, apart = at_once * pitch;
    const unsigned char* from = weights + first * pitch + of_row;
    const int rows = first < at_once ? kTileRows - first : 0, there = of_row < pitch ? rows_left - first : 0;
    unsigned place = shared_address(to) + first * kRow.pitch + at;
#pragma unroll 4
    for (int i = 0; i < turns * at_once; i += at_once) {
      if (i < rows) cp_async<Piece>(place, i < there ? from : weights, i < there ? Piece : 0);
      from += apart, place += at_once * kRow.pitch;
    }
  }

  __device__ __forceinline__ void copy(int stage, unsigned char* to) const {
    if constexpr (Format::kHasNumbers && sizeof(*of.scales) == sizeof(float)) {
      copy_wide_numbers(of.scales, stage, to + kBytes);
    } else if constexpr (Format::kHasNumbers) {
#pragma unroll 1
      for (int i = 0; i <= Format::kHasZeros; ++i)
        copy_numbers(i == 0 ? static_cast<const void*>(of.scales) : of.zeros, stage, to + kBytes + 16 * i);
    }
    if (alignment % 16 == 0) {
      copy_pieces<16>(stage, to);
    } else if (alignment % 8 == 0) {
      copy_pieces<8>(stage, to);
    } else if (alignment % 4 == 0) {
      copy_pieces<4>(stage, to);
    } else {
      const size_t of_row = static_cast<size_t>(stage) * kBytes;
#pragma unroll 1
      for (int i = thread; i < kTileRows * kBytes; i += kThreads) {
        const int at_row = i / kBytes, at = i % kBytes;
        to[at_row * kRow.pitch + at] =
            at_row < rows_left && of_row + at < pitch ? weights[at_row * pitch + of_row + at] : 0;
      }
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
