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

// The same through registers, from any addresses: for each piece two aligned 16 bytes, which are shifted when they are there.
// A thread's rows are a multiple of 8 apart, so all of its pieces begin at the same byte of 16, in each step. It loads `Ahead`
// steps before it stores, each into registers of its own.
template <class T, int Rows, int Boxes, int Threads, int Ahead = 1>
struct UnalignedBands {
  using Pieces = Bands<T, Rows, Boxes, Threads>;
  static constexpr int kCount = Pieces::kCount;

  Pieces pieces;
  const char* array;         // its first whole 16 bytes
  unsigned first, last;      // of which 16 bytes the thread's first piece begins in, and the last that has a neighbour
  unsigned apart;            // from piece to piece
  unsigned bytes;            // of 16, before a piece
  uint4 low[Ahead][kCount], high[Ahead][kCount];

  // A matrix of an array of `count` elements.
  __device__ __forceinline__ UnalignedBands(const T* begin, long long count, const T* matrix, int stride, int first_row, int first_column, int rows, int columns)
      : pieces(matrix, stride, first_row, first_column, rows, columns), apart(Pieces::kAtOnce / 8 * stride) {
    const unsigned long long from = reinterpret_cast<unsigned long long>(begin), there = reinterpret_cast<unsigned long long>(pieces.from);
    array = reinterpret_cast<const char*>((from + 15) / 16 * 16);
    bytes = there % 16;
    first = static_cast<unsigned>((there - bytes - reinterpret_cast<unsigned long long>(array)) / 16);
    const long long whole = static_cast<long long>(from + count * sizeof(T) - reinterpret_cast<unsigned long long>(array)) / 16;
    last = whole >= 2 ? static_cast<unsigned>(whole - 2) : 0;
    if (whole < 2) first = 1u << 31;  // none has
  }

  __device__ __forceinline__ unsigned index(int i) const { return first + i % Pieces::kPieces * apart + i / Pieces::kPieces * 8; }

  // Loads what is stored `later` steps after the next.
  __device__ __forceinline__ void load(int set, int later, bool along) {
    UnalignedBands at = *this;
    for (int i = 0; i < later; ++i) at.advance(along);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (Pieces::is_there(i) && at.pieces.left(i) > 0 && at.index(i) <= last) {
        const uint4* const from = reinterpret_cast<const uint4*>(array) + at.index(i);
        low[set][i] = __ldg(from);
        high[set][i] = __ldg(from + 1);
      }
    }
  }

  __device__ __forceinline__ void advance(bool along) {
    first += 8 * (along ? 1 : pieces.stride);
    pieces.advance(along);
  }

  // Stores what was loaded, and goes on to the next step.
  __device__ __forceinline__ void store(unsigned char* to, int set, bool along) {
    const bool by_8 = bytes & 8, by_4 = bytes & 4;
    const unsigned bits = bytes % 4 * 8;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (!Pieces::is_there(i)) continue;
      const uint4 x = low[set][i], y = high[set][i];
      const unsigned a = by_8 ? x.z : x.x, b = by_8 ? x.w : x.y, c = by_8 ? y.x : x.z, d = by_8 ? y.y : x.w;
      const unsigned e = by_8 ? y.z : y.x, f = by_8 ? y.w : y.y;
      const unsigned words[5] = {by_4 ? b : a, by_4 ? c : b, by_4 ? d : c, by_4 ? e : d, by_4 ? f : e};
      uint4 value = {__funnelshift_r(words[0], words[1], bits), __funnelshift_r(words[1], words[2], bits),
                     __funnelshift_r(words[2], words[3], bits), __funnelshift_r(words[3], words[4], bits)};
      const int left = pieces.left(i);
      if (left < kPack<T> || index(i) > last) {
        value = left <= 0 ? uint4{} : index(i) > last ? one_by_one(pieces.source(i), left) : first_of<T>(value, left);
      }
      *reinterpret_cast<uint4*>(to + Pieces::place(i)) = value;
    }
    advance(along);
  }
};

}  // namespace cuda_kernels
