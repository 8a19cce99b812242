// What the threads of a block load of tiles for wgmma, without TMA: #include "../include/bands.cuh".
#pragma once

#include "mma.cuh"
#include "pack.cuh"
#include "wgmma.cuh"

namespace cuda_kernels {

// What a block multiplies in a step: 64 of k of its columns of B, and of its rows of A.
template <int TileM, int TileN>
struct alignas(1024) Stage {
  unsigned char b[TileN * 128];
  unsigned char a[TileM * 128];
};

// What a block loads of one operand in each step: Boxes boxes of Rows rows of 128 bytes, with the swizzle of wgmma. A box is
// 128 bytes to the right of the one before. A thread loads the same 16 bytes of rows that are `kAtOnce` apart.
template <class T, int Rows, int Boxes, int Threads>
struct Bands {
  static constexpr int kAtOnce = Threads / 8, kPieces = (Rows + kAtOnce - 1) / kAtOnce, kCount = Boxes * kPieces;
  static_assert(kAtOnce % 8 == 0 && (Boxes == 1 || Rows % kAtOnce == 0), "a piece lies at the same place of its row");

  const T* from;      // the thread's first 16 bytes
  int stride;         // elements from row to row
  int rows, columns;  // of the matrix from there on; zeros beyond

  __device__ __forceinline__ Bands(const T* matrix, int stride, int first_row, int first_column, int rows, int columns)
      : stride(stride) {
    first_row += threadIdx.x / 8, first_column += threadIdx.x % 8 * kPack<T>;
    from = matrix + static_cast<long long>(first_row) * stride + first_column;
    this->rows = rows - first_row, this->columns = columns - first_column;
  }

  // Where the thread's piece `i` is, and how many elements of it exist.
  __device__ __forceinline__ const T* source(int i) const {
    constexpr unsigned size = kAtOnce * sizeof(T);
    return reinterpret_cast<const T*>(reinterpret_cast<const char*>(from) +
                                      static_cast<unsigned long long>(static_cast<unsigned>(stride)) * (i % kPieces * size)) +
           i / kPieces * kTileK;
  }
  __device__ __forceinline__ int left(int i) const {
    return i % kPieces * kAtOnce < rows ? columns - i / kPieces * kTileK : 0;
  }
  static __device__ __forceinline__ unsigned place(int i) {
    const unsigned row = threadIdx.x / 8;
    return (i / kPieces * Rows + i % kPieces * kAtOnce + row) * 128 + (threadIdx.x % 8 ^ row % 8) * 16;
  }
  static __device__ __forceinline__ bool is_there(int i) {
    return Rows % kAtOnce == 0 || static_cast<int>(i % kPieces * kAtOnce + threadIdx.x / 8) < Rows;
  }

  __device__ __forceinline__ void begin_copies(unsigned to) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (is_there(i)) cp_async(to + place(i), source(i), left(i) > 0 ? 16 : 0);
  }

  // The same through registers, from any addresses.
  __device__ __forceinline__ void copy_shifted(unsigned char* to, const Array& array) const {
#pragma unroll 1
    for (int i = 0; i < kCount; ++i) {
      if (is_there(i)) *reinterpret_cast<uint4*>(to + place(i)) = Shifted<T>(source(i), array).value(source(i), left(i), array);
    }
  }

  // To the next step: 64 of k, along rows or across.
  __device__ __forceinline__ void advance(bool along) {
    if (along) {
      from += kTileK, columns -= kTileK;
    } else {
      from += static_cast<long long>(kTileK) * stride, rows -= kTileK;
    }
  }
};

}  // namespace cuda_kernels
