// How the kernels of few queries share out their work, and how they meet: to be included by kernels:
// #include "../include/decode_work.cuh".
#pragma once

#include "mbarrier.cuh"
#include "shared_address.cuh"

namespace cuda_kernels {

// Distributed shared memory: what another block of the cluster has at the same offset.
__device__ __forceinline__ float load_dsmem(const float* place, int block) {
  float value;
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %1, %2;\nld.shared::cluster.f32 %0, [remote];\n}"
      : "=f"(value)
      : "r"(shared_address(place)), "r"(block)
      : "memory");
  return value;
}
__device__ __forceinline__ float4 load_dsmem_four(const float4* place, int block) {
  float4 four;
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [remote];\n}"
      : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
      : "r"(shared_address(place)), "r"(block)
      : "memory");
  return four;
}
// A worker's part of the steps of one tile of rows.
struct Piece {
  int sequence, number;  // of the tile, in its sequence
  int tile_begin, steps;  // where the tile's steps are in the row of all, and how many
  int begin, end;         // the worker's, of these
  int rest;               // the worker's steps from here on
  bool is_first;          // of the worker's pieces

  __device__ __forceinline__ bool is_whole() const { return begin == 0 && end == steps; }
  // A worker has two places for partial results at most: of a tile that began before its steps or with them, and of the
  // one that goes on behind them.
  __device__ __forceinline__ int slot() const { return is_first ? 0 : 1; }
  // A number of steps where a mask or a causal flag leaves `there` of them.
  __device__ __forceinline__ int part(int at, int there) const {
    return there == steps ? at : static_cast<int>(static_cast<long long>(at) * there / steps);
  }
};

// The steps of all tiles of all sequences in a row, and the equal parts of it that workers take.
template <int StepKeys>
struct Work {
  const int* lengths;  // of sequences, or null where all have `cache` keys
  int cache, sequences, tiles;  // of a sequence
  int total, workers;
  int share, rest;  // of a worker: the whole steps, and for all of them what is left

  // By whole warps. `available` workers of `blocks` at most; more than there are tiles only where each block has `least`
  // steps, since then partial results go through memory.
  __device__ __forceinline__ Work(
      const int* of_lengths, int of_cache, int of_sequences, int of_tiles, int available, int blocks, int least)
      : lengths(of_lengths), cache(of_cache), sequences(of_sequences), tiles(of_tiles), total(0) {
    if (lengths == nullptr) {
      total = sequences * tiles * steps_of(0);
    } else {
      int sum = 0;
      for (int i = threadIdx.x % 32; i < sequences; i += 32) sum += steps_of(i);
#pragma unroll
      for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
      total = sum * tiles;
    }
    const int all_tiles = sequences * tiles;
    workers = min(available, max((total + blocks * least - 1) / (blocks * least), min(all_tiles, (total + blocks - 1) / blocks)));
    // A part of one tile takes less time than parts of two; and workers with the same part of tiles that share keys find them
    // in the L2 cache. With many steps this is not worth leaving more than an eighth of the workers without any.
    const bool are_alike = lengths == nullptr || sequences == 1;
    if (are_alike && workers > all_tiles) {
      const int whole = workers / all_tiles * all_tiles;
      if (total / workers < 4 * blocks * least || 8 * whole >= 7 * workers) workers = whole;
    }
    share = workers == 0 ? 0 : total / workers;
    rest = total - share * workers;
  }

  // Of a tile; at least one, since somebody has to write its result.
  __device__ __forceinline__ int steps_of(int sequence) const {
    const int keys = lengths == nullptr ? cache : max(0, min(lengths[sequence], cache));
    return max((keys + StepKeys - 1) / StepKeys, 1);
  }

  __device__ __forceinline__ int begin_of(int worker) const {
    return share * worker + rest * worker / workers;
  }

  // The worker that has a step.
  __device__ __forceinline__ int worker_of(int step) const {
    int worker = min(static_cast<int>(static_cast<float>(step) * workers / total), workers - 1);  // or one beside it
    while (begin_of(worker) > step) --worker;
    while (worker + 1 < workers && begin_of(worker + 1) <= step) ++worker;
    return worker;
  }
  __device__ __forceinline__ int first_worker(const Piece& piece) const { return worker_of(piece.tile_begin); }
  __device__ __forceinline__ int last_worker(const Piece& piece) const {
    return worker_of(piece.tile_begin + piece.steps - 1);
  }
  // Where the first of these workers has its partial result.
  __device__ __forceinline__ int first_slot(const Piece& piece, int worker) const {
    return begin_of(worker) < piece.tile_begin ? 1 : 0;
  }

  // By whole warps.
  __device__ __forceinline__ Piece first_piece(int worker) const {
    const int from = begin_of(worker);
    int sequence = 0, before = 0, steps;  // steps of earlier sequences
    if (lengths == nullptr) {
      steps = steps_of(0);
      sequence = from / (steps * tiles);
      before = sequence * steps * tiles;
    } else {
      const int lane = threadIdx.x % 32;
      for (;; sequence += 32) {
        const int own = sequence + lane < sequences ? steps_of(sequence + lane) * tiles : 0;
        int through = own;
#pragma unroll
        for (int distance = 1; distance < 32; distance *= 2) {
          const int other = __shfl_up_sync(~0u, through, distance);
          through += lane >= distance ? other : 0;
        }
        const unsigned behind = __ballot_sync(~0u, before + through > from);
        const int last = __shfl_sync(~0u, through, 31);
        if (behind != 0) {
          const int which = __ffs(static_cast<int>(behind)) - 1;
          before += __shfl_sync(~0u, through - own, which);
          sequence += which;
          break;
        }
        before += last;
      }
      steps = steps_of(sequence);
    }
    const int number = (from - before) / steps, tile_begin = before + number * steps;
    const int rest = begin_of(worker + 1) - from, begin = from - tile_begin;
    return {sequence, number, tile_begin, steps, begin, min(steps, begin + rest), rest, true};
  }

  __device__ __forceinline__ void next(Piece& piece) const {
    piece.rest -= piece.end - piece.begin;
    piece.is_first = false;
    piece.begin = piece.end = 0;
    if (piece.rest == 0) return;
    piece.tile_begin += piece.steps;
    if (++piece.number == tiles) {
      piece.number = 0;
      piece.steps = steps_of(++piece.sequence);
    }
    piece.end = min(piece.steps, piece.rest);
  }
};

// Who of the workers that have parts of a tile is the last, told by 16 bytes of each in memory of the launch's own, which
// holds anything when the launch begins. A worker that has written its partial result writes a number there that nothing else
// writes, 128 bits of it, and then looks at those of the others. Fences order the two, so at least one sees the numbers of
// all, and finishes the tile; if two do, both write the same result. Who sees all takes the numbers away, so that none is left
// behind.
template <int Cluster>
struct Arrivals {
  float* scratch;
  int workers;
  static constexpr int kFloats = 8;  // of a worker's block

  struct alignas(16) Sign {
    unsigned long long low, high;
  };

  __device__ __forceinline__ volatile Sign* place(int rank, int worker, int slot) const {
    return reinterpret_cast<volatile Sign*>(scratch) + (rank * workers + worker) * 2 + slot;
  }
  // What stands at a place of a worker that has arrived.
  __device__ __forceinline__ static unsigned long long low(int worker) { return 0x6a09e667f3bcc908ull * (2 * worker + 1); }
  __device__ __forceinline__ static unsigned long long high(int worker) { return 0xbb67ae8584caa73bull * (2 * worker + 1); }

  // By one whole warp: whether all from `first` to `last` have arrived, and if so, takes their numbers away.
  __device__ __forceinline__ bool are_there(int rank, int first, int first_slot, int last) const {
    bool are = true;
    for (int each = first + threadIdx.x % 32; each <= last; each += 32) {
      const volatile Sign* const other = place(rank, each, each == first ? first_slot : 0);
      are &= other->low == low(each) && other->high == high(each);
    }
    are = __all_sync(~0u, are);
    __threadfence();
    if (are)
      for (int each = first + threadIdx.x % 32; each <= last; each += 32) {
        volatile Sign* const other = place(rank, each, each == first ? first_slot : 0);
        other->low = other->high = 0;
      }
    return are;
  }

  // By all threads of the block's part, before they write it: whether all others, from `first` to `last`, have arrived. If so,
  // it is not written.
  template <class Sync>
  __device__ __forceinline__ bool others_are_there(int rank, int first, int last, int* flag, int thread, Sync sync) const {
    sync();  // the last flag has been read
    if (thread < 32) {
      const bool are = are_there(rank, first, 0, last);
      if (thread == 0) *flag = are;
    }
    sync();
    return *flag != 0;
  }

  // By all threads that wrote the block's part, of which this is number `thread`, after each of them has: whether all from
  // `first` to `last` have arrived. `flag` is in shared memory; `sync` is their barrier. Blocks of the same rank meet.
  template <class Sync>
  __device__ __forceinline__ bool is_last(
      int rank, int worker, int slot, int first, int first_slot, int last, int* flag, int thread, Sync sync) const {
    sync();
    if (thread < 32) {
      if (thread == 0) {
        __threadfence();  // of what all threads of the block wrote, before the barrier
        volatile Sign* const own = place(rank, worker, slot);
        own->low = low(worker);
        own->high = high(worker);
      }
      __syncwarp();
      __threadfence();
      const bool are = are_there(rank, first, first_slot, last);
      if (thread == 0) *flag = are;
    }
    sync();
    return *flag != 0;
  }
};

}  // namespace cuda_kernels
