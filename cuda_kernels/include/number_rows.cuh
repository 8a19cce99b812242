// Numbers of a mask in shared memory, for the attention kernels on tensor cores: #include "../include/number_rows.cuh".
//
// Each warp has places for the numbers of its own 16 queries and a tile of keys, loads them itself (cp.async), a tile ahead,
// and is the only one that reads them, so that no barrier is needed. Rows of a mask may begin anywhere: whole chunks of 16
// bytes are loaded, from the one with the row's first number on, so a row lies up to 14 bytes behind the start of its place.
// Places are 16 bytes longer than a row of the tile, and so the rows that a warp reads at once are in different banks.
#pragma once

#include "attention_softmax.cuh"

namespace cuda_kernels {

// The bytes of a row's place, and of a warp's.
template <int Keys>
constexpr int kRowOfNumbers = 2 * Keys + 16;
template <int Keys>
constexpr int kNumbersOfWarp = 16 * kRowOfNumbers<Keys>;

// The rows of a warp's queries in a mask of 16-bit numbers, of which nothing outside may be read.
template <class T, int Keys>
struct NumbersOfWarp {
  const char *all, *end;  // of the mask
  const char* first;      // of the warp's first row
  unsigned place;         // in shared memory
  int rows, keys;         // rows that are there, of 16; keys of each

  // Parameters: the mask, of `all_rows` rows; that of the warp's first query in the mask of its head; and the warp's place.
  __device__ __forceinline__ NumbersOfWarp(
      const void* mask, long long all_rows, const HeadMask& of_head, int query, unsigned warp_place)
      : all(static_cast<const char*>(mask)),
        end(all + all_rows * of_head.keys * 2),
        first(of_head.values + (of_head.rows == 1 ? 0 : query) * static_cast<long long>(of_head.keys) * 2),
        place(warp_place),
        rows(of_head.rows == 1 ? 1 : min(16, of_head.rows - query)),
        keys(of_head.keys) {}

  // By the whole warp: issues the copies of the keys from `start` on.
  __device__ __forceinline__ void copy(int start, int lane) const {
    constexpr int kChunks = Keys / 8 + 1;
    const int wanted = 2 * min(Keys, keys - start);
#pragma unroll 1
    for (int i = lane; i < rows * kChunks; i += 32) {
      const int row = i / kChunks, chunk = i % kChunks;
      const char* const from = at(row, start);
      const int before = static_cast<int>(reinterpret_cast<unsigned long long>(from) & 15);
      const char* const bytes = from - before + chunk * 16;
      if (chunk * 16 >= before + wanted) continue;
      const unsigned to = place + row * kRowOfNumbers<Keys> + chunk * 16;
      if (bytes >= all && bytes + 16 <= end) {
        cp_async(to, bytes, 16);
      } else {
#pragma unroll 1
        for (int byte = 0; byte < 16; byte += 2)
          if (bytes + byte >= all && bytes + byte < end)
            asm volatile("st.shared.u16 [%0], %1;" ::"r"(to + byte),
                         "h"(*reinterpret_cast<const unsigned short*>(bytes + byte))
                         : "memory");
      }
    }
  }

  // After the copies of the keys from `start` on, and a __syncwarp: adds the numbers to scores in blocks of 8 columns, as
  // `Scoring::apply` does. Columns behind the last key get something.
  template <class Scores, int Size>
  __device__ __forceinline__ void add(const Scores& scoring, float (&scores)[Size], int start, int lane) const {
    static_assert(2 * Size == Keys, "a tile");
    unsigned own[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = min(lane / 4 + 8 * half, max(rows - 1, 0));
      own[half] = place + row * kRowOfNumbers<Keys> + lane % 4 * 4 +
                  static_cast<unsigned>(reinterpret_cast<unsigned long long>(at(row, start)) & 15);
    }
    const bool are_pairs = (keys % 2 == 0) & (reinterpret_cast<unsigned long long>(all) % 4 == 0);  // at multiples of 4 bytes
#pragma unroll
    for (int i = 0; i < Size; i += 2) {
      const unsigned from = own[i % 4 / 2] + i / 4 * 16;
      unsigned pair;
      if (are_pairs) {
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(pair) : "r"(from) : "memory");
      } else {
        unsigned short low, high;
        asm volatile("ld.shared.u16 %0, [%1];" : "=h"(low) : "r"(from) : "memory");
        asm volatile("ld.shared.u16 %0, [%1];" : "=h"(high) : "r"(from + 2) : "memory");
        pair = low | static_cast<unsigned>(high) << 16;
      }
      const float2 values = unpacked_pair<T>(pair);
      scores[i] = scoring.plus(scoring.scaled(scores[i]), values.x);
      scores[i + 1] = scoring.plus(scoring.scaled(scores[i + 1]), values.y);
    }
  }

 private:
  __device__ __forceinline__ const char* at(int row, int start) const {
    return first + (row * static_cast<long long>(keys) + start) * 2;
  }
};

}  // namespace cuda_kernels
