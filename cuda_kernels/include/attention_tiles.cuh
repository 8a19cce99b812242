// Tiles of queries, keys and values in shared memory for the attention kernels of warps, to be included by
// kernels: #include "../include/attention_tiles.cuh".
//
// A tile of `Rows` rows of 16-bit elements is stored in shared memory in parts of 64 columns, the last of which may
// have fewer: rows of 128 bytes, in which chunk i of 16 bytes of row r is at i ^ (r % 8). So the eight rows that
// ldmatrix reads at once are in different banks.
#pragma once

#include "attention_softmax.cuh"
#include "mma.cuh"

namespace cuda_kernels {

// The bytes of a tile: its parts are whole.
template <int Rows, int Columns>
constexpr int kTileBytes = Rows * 128 * ((Columns + 63) / 64);

// The offset of chunk `unit` of a row, in bytes from the start of the tile.
template <int Rows>
__device__ __forceinline__ unsigned tile_offset(int row, int unit) {
  return unit / 8 * (Rows * 128) + row * 128 + ((unit % 8) ^ (row % 8)) * 16;
}

// The least power of two from a number on.
template <int Number>
constexpr int kNextPower = 2 * kNextPower<(Number + 1) / 2>;
template <>
constexpr int kNextPower<1> = 1;

// What copies move: 16 bits of one number, or of two numbers of a byte, which may begin at an odd address.
struct BytePair {
  unsigned char low, high;
};
template <class T, int Bytes = sizeof(T)>
struct WordOf {
  using Type = T;
};
template <class T>
struct WordOf<T, 1> {
  using Type = BytePair;
};
__device__ __forceinline__ unsigned short word_at(const BytePair* at) {
  return static_cast<unsigned short>(at->low | at->high << 8);
}
template <class T>
__device__ __forceinline__ unsigned short word_at(const T* at) {
  static_assert(sizeof(T) == 2);
  return *reinterpret_cast<const unsigned short*>(at);
}

// Issues the copies of rows `first` ... `first + Rows` of an operand [rows, columns], whose rows are `stride` elements
// apart, to a tile of Columns columns, with zeros past the end. Each of `Threads` threads, of which this is number `thread`, copies a column of 16-byte chunks; those
// for which there is none copy nothing. If the operand is not aligned, the elements are copied one by one, before the
// function returns. If `IsExact`, the operand has as many columns as the tile.
template <int Rows, int Columns, int Threads, bool IsExact, class T>
__device__ __forceinline__ void copy_tile(
    unsigned tile, const T* __restrict__ operand, int columns, int stride, int first, int rows, int thread, bool packs) {
  constexpr int units = kNextPower<Columns / 8>, step = Threads / units;
  static_assert(step > 0 && (Rows % step == 0 || step % Rows == 0) && (step & (step - 1)) == 0,
                "as many rows for every thread that copies");
  static_assert(!IsExact || units == Columns / 8, "as many chunks as threads that copy a row");
  const int unit = thread % units, row = thread / units;
  if (units != Columns / 8 && unit >= Columns / 8) return;
  if (step > Rows && row >= Rows) return;
  const unsigned to = tile + tile_offset<Rows>(row, unit);
  const T* from = operand + static_cast<long long>(first + row) * stride + unit * 8;
  const int elements_left = columns - unit * 8;  // of a row, from this thread's first one
  const bool is_there = IsExact || elements_left > 0;
  const int left = rows - first - row;  // rows left, from this thread's first one
  auto at = [=](int i) { return (to ^ i % 8 * 16) + i * 128; };  // `row` and i have no bits in common
  if (!packs) {
#pragma unroll 1
    for (int i = 0; i < Rows; i += step) {
      unsigned short elements[8] = {};
      if (i < left)
        for (int e = 0; e < 8; ++e)
          if (IsExact || e < elements_left)
            elements[e] = word_at(from + i * stride + e);
      unsigned words[4];
      for (int w = 0; w < 4; ++w) words[w] = elements[2 * w] | elements[2 * w + 1] << 16;
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at(i)), "r"(words[0]),
                   "r"(words[1]), "r"(words[2]), "r"(words[3])
                   : "memory");
    }
  } else if (first + Rows <= rows) {
#pragma unroll
    for (int i = 0; i < Rows; i += step)
      cp_async(at(i), is_there ? from + i * stride : operand, is_there ? 16 : 0);
  } else {
#pragma unroll
    for (int i = 0; i < Rows; i += step)
      cp_async(at(i), is_there && i < left ? from + i * stride : operand, is_there && i < left ? 16 : 0);
  }
}

// The same of rows that lie anywhere (i: the first row that is copied with it), `at(row, i)`, of which `rows` are there.
template <int Rows, int Columns, int Threads, bool IsExact, class At>
__device__ __forceinline__ void copy_rows(unsigned tile, int columns, int rows, int thread, bool packs, At at) {
  constexpr int units = kNextPower<Columns / 8>, step = Threads / units;
  static_assert(step > 0, "a thread for every chunk of a row");
  const int unit = thread % units;
  if (units != Columns / 8 && unit >= Columns / 8) return;
  const int elements_left = IsExact ? 8 : columns - unit * 8;
#pragma unroll
  for (int i = 0; i < Rows; i += step) {
    const int row = thread / units + i;
    if (step > Rows && row >= Rows) break;
    const unsigned to = tile + tile_offset<Rows>(row, unit);
    const bool is_there = row < rows && elements_left > 0;
    const auto* const from = is_there ? at(row, i) + unit * 8 : at(0, 0);
    if (packs) {
      cp_async(to, from, is_there ? 16 : 0);
      continue;
    }
    unsigned short elements[8];
#pragma unroll
    for (int e = 0; e < 8; ++e)
      elements[e] = is_there && e < elements_left ? word_at(from + e) : 0;
    unsigned words[4];
    for (int w = 0; w < 4; ++w) words[w] = elements[2 * w] | elements[2 * w + 1] << 16;
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]),
                 "r"(words[3])
                 : "memory");
  }
}

// Copies numbers of a mask to a tile as `copy_tile` does: of rows [.., keys] from `numbers` on, of which `rows_left` are there,
// and `keys_left` keys of each. `packs` says whether 16 bytes can be copied at once.
template <int Rows, int Keys, int Threads, class T>
__device__ __forceinline__ void copy_numbers(
    unsigned tile, const T* __restrict__ numbers, int keys, int rows_left, int keys_left, int thread, bool packs) {
  constexpr int units = kNextPower<Keys / 8>, step = Threads / units;
  static_assert(step > 0 && Rows % step == 0 && units == Keys / 8, "as many rows for every thread");
  const int unit = thread % units, row = thread / units;
  const unsigned to = tile + tile_offset<Rows>(row, unit);
  const T* const from = numbers + row * static_cast<long long>(keys) + unit * 8;
  rows_left -= row;
  keys_left -= unit * 8;
#pragma unroll
  for (int i = 0; i < Rows; i += step) {
    const unsigned at = (to ^ i % 8 * 16) + i * 128;
    const bool is_there = i < rows_left && keys_left > 0;
    if (packs) {
      cp_async(at, is_there ? from + i * static_cast<long long>(keys) : numbers, is_there ? 16 : 0);
      continue;
    }
    unsigned short elements[8];
#pragma unroll
    for (int e = 0; e < 8; ++e)
      elements[e] = is_there && e < keys_left
                        ? reinterpret_cast<const unsigned short*>(from)[i * static_cast<long long>(keys) + e] : 0;
    unsigned words[4];
    for (int w = 0; w < 4; ++w) words[w] = elements[2 * w] | elements[2 * w + 1] << 16;
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(words[0]), "r"(words[1]), "r"(words[2]),
                 "r"(words[3])
                 : "memory");
  }
}

// sums[0 ... 3] += a b, of 16 x 16 by 16 x 8.
template <class T>
__device__ __forceinline__ void mma_block(float* sums, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  float c[4] = {sums[0], sums[1], sums[2], sums[3]};
  mma(T(), c, a, {b0, b1});
#pragma unroll
  for (int i = 0; i < 4; ++i) sums[i] = c[i];
}

}  // namespace cuda_kernels
