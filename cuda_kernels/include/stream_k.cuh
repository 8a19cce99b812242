// How the blocks of a product share out its tiles with stream-K, for kernels of few blocks, one to a multiprocessor, to be
// included by them: #include "../include/stream_k.cuh".
#pragma once

#include "decode_work.cuh"

namespace cuda_kernels {

template <bool Condition, class Yes, class No>
struct Choose {
  using Type = Yes;
};
template <class Yes, class No>
struct Choose<false, Yes, No> {
  using Type = No;
};

// What a block computes, one after the other: whole tiles in waves; and of the tiles that are left, with those of the last
// whole wave, its equal part of all their stages: parts of two tiles at most, and whole ones between. With the last wave a tile
// has fewer parts, of which the last block adds up all.
struct StreamK {
  static constexpr int kMostParts = 8;  // of a tile
  static constexpr int kLeastGain = 6;  // stages; less is not worth what parts take on their way through memory
  int stages, whole, index;  // of a tile; tiles in waves; the block's next of these
  Work<1> work;              // on the other tiles
  Piece piece;

  static __device__ __forceinline__ int tiles_in_waves(int tiles, int of_k) {
    const int blocks = static_cast<int>(gridDim.x), left = tiles % blocks;
    const bool gains = of_k - (left * of_k + blocks - 1) / blocks >= kLeastGain;
    return left == 0 || !gains ? tiles : max(tiles - left - blocks, 0);
  }

  __device__ __forceinline__ StreamK(int tiles, int of_k)
      : stages(of_k),
        whole(tiles_in_waves(tiles, of_k)),
        index(blockIdx.x),
        work(nullptr, of_k, 1, tiles - whole, min(static_cast<int>(gridDim.x), (tiles - whole) * kMostParts), 1, 1) {
    piece.rest = 0;
    if (static_cast<int>(blockIdx.x) < work.workers) piece = work.first_piece(blockIdx.x);
  }
  __device__ __forceinline__ bool in_waves() const { return index < whole; }
  __device__ __forceinline__ bool there() const { return in_waves() || piece.rest > 0; }
  __device__ __forceinline__ void next() {
    if (in_waves()) {
      index += static_cast<int>(gridDim.x);
    } else {
      work.next(piece);
    }
  }
  __device__ __forceinline__ int tile() const { return in_waves() ? index : whole + piece.number; }
  __device__ __forceinline__ int begin() const { return in_waves() ? 0 : piece.begin; }
  __device__ __forceinline__ int count() const { return in_waves() ? stages : piece.end - piece.begin; }
  __device__ __forceinline__ bool is_whole() const { return in_waves() || piece.is_whole(); }
};

}  // namespace cuda_kernels
