// Shared by the products of one row of x with 4-bit weights, y = x W^T, to be included by
// quantised_groups_row.cuh and quantised_blocks_row.cuh.
//
// A warp processes a slice, 256 of k, of several quads, 4 rows of W each. A lane has the 32 weights of one row that share a
// scale. Two quads are operand A: its row g is the first or second half of row g / 2 of the first quad, its row g + 8 of
// the second quad. B has a column for each of the 8 groups of the slice, with x where A has the group's weights and zeros
// elsewhere. So each lane gets the sums of its own weights, and multiplies them by their scales:
//
//   lane (g, t): rows g / 2 of both quads, group 4 (g % 2) + t    B: column 2 t + g % 2, from lane (2 t + g % 2, t)
//
// Weights become floats with as few instructions as possible, which leaves them too large by z: 8, or the zero point of
// the group, plus 128 for bf16. sum((q - z) x) = sum(q x) - z sum(x), where sum(x) is a product with A of ones.
#pragma once

#include "quantised.cuh"

namespace cuda_kernels {

// Loads in program order, if `there` is not 0; otherwise the registers keep their values.
// 16 bytes that are used once:
__device__ __forceinline__ void load_once(uint4& to, const unsigned char* from, unsigned there) {
  asm volatile(
      "{\n.reg .pred is_there;\nsetp.ne.u32 is_there, %5, 0;\n"
      "@is_there ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
      : "+r"(to.x), "+r"(to.y), "+r"(to.z), "+r"(to.w)
      : "l"(from), "r"(there));
}

// 16 bytes that other warps use, too:
template <class T>
__device__ __forceinline__ void load_often(uint4& to, const T* from, unsigned there) {
  asm volatile(
      "{\n.reg .pred is_there;\nsetp.ne.u32 is_there, %5, 0;\n"
      "@is_there ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
      : "+r"(to.x), "+r"(to.y), "+r"(to.z), "+r"(to.w)
      : "l"(from), "r"(there));
}

// A scale or zero:
template <class T>
__device__ __forceinline__ void load_number(unsigned short& to, const T* from, unsigned there) {
  asm volatile("{\n.reg .pred is_there;\nsetp.ne.u32 is_there, %2, 0;\n@is_there ld.global.nc.u16 %0, [%1];\n}"
               : "+h"(to)
               : "l"(from), "r"(there));
}

// 16 bytes from any address, in the widest loads that its alignment allows.
template <class Unit>
__device__ __forceinline__ uint4 load_units(const unsigned char* from) {
  constexpr int count = 16 / sizeof(Unit);
  Unit units[count];
#pragma unroll
  for (int i = 0; i < count; ++i) units[i] = reinterpret_cast<const Unit*>(from)[i];
  uint4 bits;
  memcpy(&bits, units, sizeof(bits));
  return bits;
}
__device__ __forceinline__ uint4 load_bytes(const unsigned char* from) {
  const auto address = reinterpret_cast<unsigned long long>(from);
  if (address % 16 == 0) return load_units<uint4>(from);
  if (address % 2 == 0) return load_units<unsigned short>(from);
  return load_units<unsigned char>(from);
}

template <class T>
__device__ __forceinline__ float number_of(unsigned short bits) {
  T number;
  memcpy(&number, &bits, sizeof(number));
  return static_cast<float>(number);
}

// A lane's role in its warp: which weights it has, and whether its own part of B holds their x.
struct Role {
  int row, group;  // of a quad, and of a slice
  int of_b;        // the group of its part of B
  bool gives_x, second;

  __device__ __forceinline__ Role() {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    row = lane / 8, group = lane % 8;
    of_b = 4 * (g % 2) + t;
    gives_x = g / 2 == t, second = g % 2 == 1;
  }
};

// x of a slice in the layout of B, 64 bytes per group; the halves of a group are in different banks. Double-buffered, so that the next
// slice is written while this one is read.
using SlicesOfX = uint4[2][36];
constexpr int kSliceOfXBytes = 36 * 16;
__device__ __forceinline__ constexpr int place_of_group(int group) { return 64 * group + group / 4 * 16; }

// Operand A of two MMAs: a word of each of two quads.
struct Fragments {
  unsigned low[4], high[4];
};

template <class T>
__device__ __forceinline__ Fragments expand_words(unsigned word, unsigned other) {
  unsigned upper[2][2], lower[2][2];
  Bare<T>::expand(word, upper[0], upper[1]);
  Bare<T>::expand(other, lower[0], lower[1]);
  return {{upper[0][0], lower[0][0], upper[0][1], lower[0][1]}, {upper[1][0], lower[1][0], upper[1][1], lower[1][1]}};
}

// The sum of x over a lane's own weights, in the units of their sums.
template <class T>
__device__ __forceinline__ float sum_of_x(const uint4 (&b)[4], bool second) {
  const unsigned ones[4] = {Bare<T>::kOnes, Bare<T>::kOnes, Bare<T>::kOnes, Bare<T>::kOnes};
  float added[4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    mma(T(), added, ones, {b[i].x, b[i].y});
    mma(T(), added, ones, {b[i].z, b[i].w});
  }
  return second ? added[1] : added[0];
}

// The sums of a lane's weights times x, of rows of two quads.
template <class T>
struct SumsOfTwo {
  float low[4] = {}, high[4] = {};

  __device__ __forceinline__ void add(const Fragments& a, uint4 b) {
    mma(T(), low, a.low, {b.x, b.y});
    mma(T(), high, a.high, {b.z, b.w});
  }
  __device__ __forceinline__ float of(int quad, bool second) const {
    return second ? Bare<T>::sum(low[2 * quad + 1], high[2 * quad + 1]) : Bare<T>::sum(low[2 * quad], high[2 * quad]);
  }
};

// Stores the partial sums of a warp for the rows of quads, reduced over its lanes, from row `first` of the block on.
template <int Quads>
__device__ __forceinline__ void keep_sums(const float (&sums)[Quads], float* found, int first) {
#pragma unroll
  for (int q = 0; q < Quads; ++q) {
    float sum = sums[q];
#pragma unroll
    for (int away = 1; away < 8; away *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, away);
    if (threadIdx.x % 8 == 0) found[first + 4 * q + threadIdx.x % 32 / 8] = sum;
  }
}

// The epilogue: reduces the partial sums of the warps and writes the block's rows from `first_row` on, but not those before
// `own_row`, which another block writes.
template <class T, int Warps, int Rows>
__device__ __forceinline__ void epilogue(const float (&found)[Warps][Rows], T* __restrict__ y, int first_row,
                                           int own_row, int n) {
  __syncthreads();
  const int row = threadIdx.x, number = first_row + row;
  if (row < Rows && number >= own_row && number < n) {
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < Warps; ++w) sum += found[w][row];
    y[number] = static_cast<T>(Bare<T>::kUnit * sum);
  }
}

// The first row of a block of `rows` rows: the last block has the last rows, and may overlap the block before.
__device__ __forceinline__ int first_row_of(int own_row, int rows, int n) { return max(min(own_row, n - rows), 0); }

}  // namespace cuda_kernels
