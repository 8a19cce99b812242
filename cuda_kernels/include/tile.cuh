// Tiles of matrices in shared memory, for kernels that multiply them: #include "include/tile.cuh".
//
// A row of a tile is 64 bytes or a multiple of 128. Its 16-byte chunk j lies in the place of chunk j ^ i in row i, of
// the low bits: so 8 neighbouring chunks of a row and the same chunk of 8 neighbouring rows both lie in all banks.
#pragma once

#include "mma.cuh"
#include "pack.cuh"

namespace cuda_kernels {

// Where a chunk of a row lies in a tile with rows of `Columns` elements, in bytes.
template <int Columns, class T>
__device__ __forceinline__ unsigned place(int row, int chunk) {
  constexpr int chunks = Columns / kPack<T>;  // of 128 bytes, which are all banks, there are 8
  static_assert(chunks == 4 || chunks % 8 == 0, "a row of 64 bytes, or of all banks");
  const int turn = chunks >= 8 ? row % 8 : row / 2 % 4;
  return (row * chunks + (chunk ^ turn)) * 16;
}

// A tile on its way to shared memory: the chunks that one thread copies. Of the matrix, `rows` x `columns` elements
// are left from `from` on, and its rows lie `stride` elements apart; what lies beyond is zeros.
template <int Rows, int Columns, int Threads, class T>
struct Copies {
  static constexpr int chunks = Columns / kPack<T>, at_once = Threads / chunks;  // of a row; rows
  static constexpr int count = Rows / at_once;
  static_assert(Threads % chunks == 0 && Rows % at_once == 0, "every thread copies as many");

  // Begins the copy `i`, unless the addresses are not for it.
  static __device__ __forceinline__ void begin(int i, unsigned tile, const T* from, long long stride, int rows,
                                               int columns, bool packs) {
    const int row = threadIdx.x / chunks, chunk = threadIdx.x % chunks;
    const int left = chunk * kPack<T> < columns ? rows - row : 0;
    copy_async(tile + place<Columns, T>(row + i * at_once, chunk),
               from + row * stride + chunk * kPack<T> + i * at_once * stride, i * at_once < left ? 16 : 0, packs);
  }

  // All of them, from any addresses.
  static __device__ __forceinline__ void make_slowly(unsigned char* tile, const T* from, long long stride, int rows,
                                                     int columns) {
#pragma unroll 1
    for (int unit = threadIdx.x; unit < Rows * Columns; unit += Threads) {
      const int row = unit / Columns, column = unit % Columns, chunk = column / kPack<T>;
      T* const to = reinterpret_cast<T*>(tile + place<Columns, T>(row, chunk));
      to[column % kPack<T>] = row < rows && column < columns ? from[row * stride + column] : static_cast<T>(0.0f);
    }
  }
};

// The two tiles of a step of a product, and where they come from: A [m, k], and B [k, n] or weights [n, k].
template <class T, bool IsWeights, int TileM, int TileN, int TileK, int Stages, int Threads>
struct Steps {
  using OfA = Copies<TileM, TileK, Threads, T>;
  using OfB = Copies<IsWeights ? TileN : TileK, IsWeights ? TileK : TileN, Threads, T>;
  static constexpr int a_bytes = TileM * TileK * sizeof(T), bytes = a_bytes + TileN * TileK * sizeof(T);

  const T* a;  // at the tile's first row
  const T* b;  // at its first column
  int rows, columns, k;  // left of A and of B
  long long stride;      // of B
  bool packs;
  unsigned char* stages;

  __device__ __forceinline__ unsigned char* stage(int step) const { return stages + step % Stages * bytes; }

  // Begins part `part` of `parts` of the copies for a step.
  __device__ __forceinline__ void begin(int step, int part, int parts) const {
    constexpr int count = OfA::count + OfB::count;
    const int at = step * TileK;
    const unsigned to = shared_address(stage(step));
#pragma unroll
    for (int i = part * count / parts; i < (part + 1) * count / parts; ++i) {
      if (i < OfA::count) {
        OfA::begin(i, to, a + at, k, rows, k - at, packs);
      } else if constexpr (IsWeights) {
        OfB::begin(i - OfA::count, to + a_bytes, b + at, stride, columns, k - at, packs);
      } else {
        OfB::begin(i - OfA::count, to + a_bytes, b + at * stride, stride, k - at, columns, packs);
      }
    }
  }

  // All of them, from any addresses.
  __device__ __forceinline__ void make_slowly(int step) const {
    const int at = step * TileK;
    OfA::make_slowly(stage(step), a + at, k, rows, k - at);
    if constexpr (IsWeights) {
      OfB::make_slowly(stage(step) + a_bytes, b + at, stride, columns, k - at);
    } else {
      OfB::make_slowly(stage(step) + a_bytes, b + at * stride, stride, k - at, columns);
    }
  }
};

// Which tile of which result a block computes: of 8 rows of tiles, one column after the other, so that blocks that
// run at the same time read few rows and columns.
template <int TileM, int TileN>
struct Place {
  int number, m, n;  // of the result; the tile's first row and column

  __device__ __forceinline__ Place(int of_m, int of_n) {
    const int tiles_m = (of_m + TileM - 1) / TileM, tiles_n = (of_n + TileN - 1) / TileN;
    const int tile = blockIdx.x % (tiles_m * tiles_n), group = tile / (8 * tiles_n);
    const int height = min(tiles_m - group * 8, 8), in_group = tile % (8 * tiles_n);
    number = blockIdx.x / (tiles_m * tiles_n);
    m = (group * 8 + in_group % height) * TileM;
    n = in_group / height * TileN;
  }
};

constexpr int kUnit = 8;  // neighbours that a thread writes

// kUnit elements from an aligned address, as floats, and the opposite.
template <class T>
__device__ __forceinline__ void load_unit(const T* from, float* values) {
  for (int i = 0; i < kUnit; i += kPack<T>) load_pack(from + i, values + i);
}

template <class T>
__device__ __forceinline__ void store_unit(T* to, const float* values) {
  for (int i = 0; i < kUnit; i += kPack<T>) store_pack(to + i, values + i);
}

// A warp's sums, fragments [Rows, Columns] of mma.sync, to where they belong in one of the results [m, n], from its row
// `first_m` and column `first_n` on: plus bias and residual, through the activation. They go through the shared memory
// `parts`, of all warps, so that each thread has neighbours.
template <class Activation, int Rows, int Columns, class In, class Out>
__device__ __forceinline__ void finish_fragments(const float (&sums)[Rows][Columns][4], float* parts, const In* bias,
                                                 const Out* residual, Out* c, int number, int first_m, int first_n,
                                                 int m, int n) {
  constexpr int apart = Columns * 8 + 8, units = Columns * 8 / kUnit;  // rows that begin in different banks
  const int lane = threadIdx.x % 32;
  float* const part = parts + threadIdx.x / 32 * Rows * 16 * apart;
#pragma unroll
  for (int i = 0; i < Rows; ++i)
#pragma unroll
    for (int j = 0; j < Columns; ++j)
      for (int half = 0; half < 2; ++half) {
        float2 pair;
        pair.x = sums[i][j][half * 2];
        pair.y = sums[i][j][half * 2 + 1];
        *reinterpret_cast<float2*>(part + (i * 16 + half * 8 + lane / 4) * apart + j * 8 + lane % 4 * 2) = pair;
      }
  __syncwarp();
  const bool whole = aligned(bias, residual, c) && n % kUnit == 0;
#pragma unroll 2
  for (int unit = lane; unit < Rows * 16 * units; unit += 32) {
    const int row = first_m + unit / units, column = first_n + unit % units * kUnit;
    if (row >= m || column >= n) continue;
    const float* const from = part + unit / units * apart + unit % units * kUnit;
    const long long at = (static_cast<long long>(number) * m + row) * n + column;
    if (whole) {
      float values[kUnit], others[kUnit];
      for (int e = 0; e < kUnit; ++e) values[e] = from[e];
      if (bias != nullptr) {
        load_unit(bias + column, others);
        for (int e = 0; e < kUnit; ++e) values[e] += others[e];
      }
      if (residual != nullptr) {
        load_unit(residual + at, others);
        for (int e = 0; e < kUnit; ++e) values[e] += others[e];
      }
      for (int e = 0; e < kUnit; ++e) values[e] = Activation::template of<Out>(values[e]);
      store_unit(c + at, values);
    } else {
#pragma unroll 1
      for (int e = 0; e < min(n - column, kUnit); ++e) {
        float value = from[e];
        if (bias != nullptr) value += static_cast<float>(bias[column + e]);
        if (residual != nullptr) value += static_cast<float>(residual[at + e]);
        c[at + e] = static_cast<Out>(Activation::template of<Out>(value));
      }
    }
  }
}

}  // namespace cuda_kernels
