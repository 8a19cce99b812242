// Tiles of a mask's numbers in shared memory, for sm_90a: #include "../include/number_tiles.cuh".
//
// Where rows begin at multiples of 16 bytes they are tiles like those of keys, loaded by TMA and read by ldmatrix, which gives
// them as the accumulators have the scores. Rows of any other length are loaded one by one, by bulk copies, which take whole
// chunks of 16 bytes: a row's copy begins with the chunk that has its first number, so each row lies up to 14 bytes behind
// the start of its place. These are read number by number, or in pairs. Places are 16 bytes longer than a row of the tile,
// so the rows that a warp reads at once are in different banks, too.
#pragma once

#include "attention_tiles.cuh"
#include "mbarrier.cuh"

namespace cuda_kernels {

// The bytes of a row's place.
template <int Keys>
constexpr int kRowOfNumbers = 2 * Keys + 16;

constexpr int kSharedBytesOfHopper = 227 * 1024;  // of a block, at most

// The stages that the rows have: as many as the tiles, if these rows fit beside `Others` bytes; else those that fit where the
// tiles are. `WarpgroupTiles.number_bytes` has the same.
template <int Queries, int Keys, int Stages, int Others>
constexpr int kStagesOfRows =
    Stages * Queries * kRowOfNumbers<Keys> + Others <= kSharedBytesOfHopper
        ? Stages
        : Stages * kTileBytes<Queries, Keys> / (Queries * kRowOfNumbers<Keys>);

// What the stages take: `Stages` of tiles or `Rows` of rows.
template <int Queries, int Keys, int Stages, int Rows>
struct NumberArea {
  static constexpr int kTile = kTileBytes<Queries, Keys>, kTileOfRows = Queries * kRowOfNumbers<Keys>;
  static constexpr int kBytes = Stages * kTile > Rows * kTileOfRows ? Stages * kTile : Rows * kTileOfRows;
  static_assert(Stages == 0 || Rows > 0, "a stage of rows");
  static_assert(kBytes % 1024 == 0, "what is behind them is swizzled");
};

// Copies whole chunks of 16 bytes, which arrive on the barrier. PTX ISA, "cp.async.bulk".
__device__ __forceinline__ void bulk_load(unsigned to, const char* from, int bytes, Barrier* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

// Rows of 16-bit numbers of a mask, which has nothing in front of or behind its own bytes that may be read.
struct NumberRows {
  const char *all, *end, *first;
  int keys;

  // Parameters: the mask, of `rows` rows, and the number of the first of those to copy.
  __device__ __forceinline__ NumberRows(const void* mask, long long rows, int of_keys, long long number)
      : all(static_cast<const char*>(mask)), end(all + rows * of_keys * 2), first(all + number * of_keys * 2), keys(of_keys) {}

  // Copies the keys from `start` on of `rows` rows by `Threads` threads, each of which arrives on the barrier.
  template <int Keys, int Threads>
  __device__ __forceinline__ void copy(char* tile, Barrier* full, int rows, int start, int thread) const {
    const int count = min(Keys, keys - start);
#pragma unroll 1
    for (int row = thread; row < rows; row += Threads) {
      const char* const from = first + (static_cast<long long>(row) * keys + start) * 2;
      const unsigned place = shared_address(tile + row * kRowOfNumbers<Keys>);
      const int before = reinterpret_cast<unsigned long long>(from) & 15;
      // The first chunk and the last may have bytes of others.
      const char* const chunks = from - before;
      const int wanted = before + 2 * count;
      const int begin = chunks < all ? 16 : 0;
      const int limit = static_cast<int>(min(static_cast<long long>(wanted + 15 & ~15), (end - chunks) & ~15ll));
      if (limit > begin) {
        expect(full, limit - begin);
        bulk_load(place + begin, chunks + begin, limit - begin, full);
      }
      if (begin > 0) copy_numbers_one_by_one(place, chunks, before, min(16, wanted));
      if (limit < wanted) copy_numbers_one_by_one(place, chunks, max(max(limit, begin), before), wanted);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // before a later copy to the same place
    arrive(full);
  }

 private:
  __device__ __forceinline__ static void expect(Barrier* barrier, int bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
  }

  __device__ __forceinline__ static void copy_numbers_one_by_one(unsigned to, const char* from, int begin, int end) {
#pragma unroll 1
    for (int at = begin; at < end; at += 2)
      asm volatile("st.shared.u16 [%0], %1;" ::"r"(to + at), "h"(*reinterpret_cast<const unsigned short*>(from + at))
                   : "memory");
  }
};

// Where the numbers of a row of a head's tile lie, from the key `start` on.
template <class T, int Keys>
__device__ __forceinline__ const T* number_row(const char* tile, const HeadMask& of_head, int first, int row, int start) {
  const unsigned at = (of_head.rows == 1 ? 0 : first + row) * static_cast<unsigned>(of_head.keys) + start;
  const unsigned before = (static_cast<unsigned>(reinterpret_cast<unsigned long long>(of_head.values)) + 2 * at) & 15;
  return reinterpret_cast<const T*>(tile + row * kRowOfNumbers<Keys> + before);
}

// What `Scoring::apply` does with numbers that are in such rows: `low` and `high` are those of this thread's first column.
// `are_pairs` says whether both are at multiples of 4 bytes, which is so of all threads or of none.
template <class Scores, class T, int Size>
__device__ __forceinline__ void add_number_rows(
    const Scores& scoring, float (&scores)[Size], const T* low, const T* high, bool are_pairs) {
  if (are_pairs) {
#pragma unroll
    for (int i = 0; i < Size; i += 2) {
      const float2 values = unpacked_pair<T>(*reinterpret_cast<const unsigned*>((i % 4 == 0 ? low : high) + i / 4 * 8));
      scores[i] = scoring.plus(scoring.scaled(scores[i]), values.x);
      scores[i + 1] = scoring.plus(scoring.scaled(scores[i + 1]), values.y);
    }
  } else {
#pragma unroll
    for (int i = 0; i < Size; ++i) {
      const float value = static_cast<float>((i % 4 < 2 ? low : high)[i / 4 * 8 + i % 2]);
      scores[i] = scoring.plus(scoring.scaled(scores[i]), value);
    }
  }
}

}  // namespace cuda_kernels
