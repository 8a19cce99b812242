// y = x W^T for one row of x and weights of 4 bits in groups, to be included by quantised_4bit.cu: #include
// "../include/quantised_groups_row.cuh". quantised_row.cuh explains how a slice is multiplied.
//
// Weights go from memory to registers and bypass the L1 cache, which keeps x. A block has 4 * Quads rows of W, a warp every
// Warps-th slice of 256 of k, 128 bytes of a row; warps do not synchronise before the final reduction. A load takes a
// quad. Registers are reloaded, for the warp's next slice, as soon as their weights are converted: reloading after the
// multiplications would make a launch a tenth slower. Every instruction of a slice costs time, too: so no row is masked,
// and pointers are kept.
#pragma once

#include "quantised_row.cuh"

namespace cuda_kernels {

// A lane's part of a slice: 16 bytes of each quad, with their scales and zeros; 8 elements of x.
template <int Quads>
struct Slice {
  uint4 words[Quads], of_x;
  unsigned short scale[Quads], zero[Quads];

  __device__ __forceinline__ Slice() : of_x(make_uint4(0, 0, 0, 0)) {
#pragma unroll
    for (int q = 0; q < Quads; ++q) words[q] = make_uint4(0, 0, 0, 0), scale[q] = zero[q] = 0;
  }
};

// Shared by both ways to load groups.
template <class T, bool HasZeros>
struct OfGroups {
  // Puts x in the order of a word's 8 elements: 0 and 4, 2 and 6, then 1 and 5, 3 and 7.
  __device__ __forceinline__ static void arrange(uint4* to, uint4 own) {
    const int lane = threadIdx.x % 32;
    to[lane + lane / 16] = make_uint4(bytes_of<0x5410>(own.x, own.z), bytes_of<0x5410>(own.y, own.w),
                                      bytes_of<0x7632>(own.x, own.z), bytes_of<0x7632>(own.y, own.w));
  }
  __device__ __forceinline__ static float scaled(unsigned short scale, unsigned short zero, float sum, float of_ones) {
    const float z = HasZeros ? number_of<T>(zero) : 8.0f;
    return number_of<T>(scale) * (sum - (Bare<T>::kTooMuch + z) * of_ones);
  }
};

// The addresses of a lane's groups, if all slices are whole and aligned, and 2^`shift` groups of 32 share a scale.
// `there` is 0 past the last slice.
template <class T, bool HasZeros>
struct WholeGroups : OfGroups<T, HasZeros> {
  const T *x, *scales, *zeros, *scale, *zero;
  const unsigned char* weight;
  unsigned words_apart, numbers_apart, part, step;
  int shift;

  __device__ __forceinline__ WholeGroups(const T* x_from, const unsigned char* weight_from, const T* scales_from,
                                         const T* zeros_from, int first_row, int, int k, int groups, int warps,
                                         int shift_of_groups)
      : words_apart(2 * k), numbers_apart(4 * groups), step(warps), shift(shift_of_groups) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const Role role;
    const size_t row = first_row + role.row;
    x = x_from + warp * kStep + 8 * lane;
    weight = weight_from + row * (k / 2) + warp * (kStep / 2) + role.group * (kGroup / 2);
    scales = scales_from + row * groups;
    zeros = HasZeros ? zeros_from + row * groups : nullptr;
    part = warp * kGroups + role.group;
    find_numbers();
  }

  __device__ __forceinline__ void find_numbers() {
    scale = scales + (part >> shift);
    zero = HasZeros ? zeros + (part >> shift) : nullptr;
  }
  __device__ __forceinline__ void advance() {
    x += step * kStep, weight += step * (kStep / 2), part += step * kGroups;
    find_numbers();
  }
  __device__ __forceinline__ void load_x(uint4& to, unsigned there) const { load_often(to, x, there); }
  __device__ __forceinline__ void load_words(uint4& to, int q, unsigned there) const {
    load_once(to, weight + q * words_apart, there);
  }
  __device__ __forceinline__ void load_numbers(unsigned short& scale_to, unsigned short& zero_to, int q,
                                               unsigned there) const {
    load_number(scale_to, scale + q * numbers_apart, there);
    if constexpr (HasZeros) load_number(zero_to, zero + q * numbers_apart, there);
  }
};

// The fallback for any alignment, k and group size, and for fewer rows than a block has: it repeats the last row.
template <class T, bool HasZeros>
struct AnyGroups : OfGroups<T, HasZeros> {
  const T *x, *scales, *zeros;
  const unsigned char* weight;
  int first_row, n, k, groups, slice, step;

  __device__ __forceinline__ AnyGroups(const T* x_from, const unsigned char* weight_from, const T* scales_from,
                                       const T* zeros_from, int first, int rows, int columns, int groups_of_row,
                                       int warps, int)
      : x(x_from), scales(scales_from), zeros(zeros_from), weight(weight_from), first_row(first), n(rows), k(columns),
        groups(groups_of_row), slice(threadIdx.x / 32), step(warps) {}

  __device__ __forceinline__ size_t row(int q) const { return min(first_row + 4 * q + Role().row, n - 1); }
  __device__ __forceinline__ int group() const { return slice * kGroups + Role().group; }

  __device__ __forceinline__ void advance() { slice += step; }
  __device__ __forceinline__ void load_x(uint4& to, unsigned) const {
    const int at = slice * kStep + 8 * (threadIdx.x % 32);
    to = load_elements(at < k ? x + at : x, at < k ? 8 : 0);
  }
  __device__ __forceinline__ void load_words(uint4& to, int q, unsigned) const {
    const bool inside = group() * kGroup < k;
    to = inside ? load_bytes(weight + row(q) * (k / 2) + group() * (kGroup / 2)) : make_uint4(0, 0, 0, 0);
  }
  __device__ __forceinline__ void load_numbers(unsigned short& scale, unsigned short& zero, int q, unsigned) const {
    const bool inside = group() * kGroup < k;
    const size_t at = row(q) * groups + (inside ? group() / (k / kGroup / groups) : 0);
    load_number(scale, scales + at, inside);
    if constexpr (HasZeros) load_number(zero, zeros + at, inside);
  }
};

// Accumulates a lane's weights in all slices of its warp, of a row of each quad.
template <class T, int Warps, int Quads, class Source>
__device__ __forceinline__ void sum_slices(Source source, int slices, SlicesOfX& arranged, float (&sums)[Quads]) {
  static_assert(Quads % 2 == 0, "two are A");
  const int warp = threadIdx.x / 32;
  const Role role;
  uint4 b[4] = {};
  Slice<Quads> own;
  source.load_x(own.of_x, warp < slices);
#pragma unroll
  for (int q = 0; q < Quads; ++q) source.load_words(own.words[q], q, warp < slices);
#pragma unroll
  for (int q = 0; q < Quads; ++q) source.load_numbers(own.scale[q], own.zero[q], q, warp < slices);

  int side = 0;
#pragma unroll 1
  for (int slice = warp; slice < slices; slice += Warps, side ^= 1) {
    const unsigned there = slice + Warps < slices;
    source.advance();
    source.arrange(arranged[side], own.of_x);
    source.load_x(own.of_x, there);
    Fragments a[4];
    const auto take = [&](int q) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = expand_words<T>(word_of(own.words[q], i), word_of(own.words[q + 1], i));
      source.load_words(own.words[q], q, there);
      source.load_words(own.words[q + 1], q + 1, there);
    };
    take(0);
    __syncwarp();
    if (role.gives_x) {
#pragma unroll
      for (int i = 0; i < 4; ++i) b[i] = arranged[side][place_of_group(role.of_b) / 16 + i];
    }
    const float of_ones = sum_of_x<T>(b, role.second);
#pragma unroll
    for (int q = 0; q < Quads; q += 2) {
      SumsOfTwo<T> two;
#pragma unroll
      for (int i = 0; i < 4; ++i) two.add(a[i], b[i]);
      if (q + 2 < Quads) take(q + 2 < Quads ? q + 2 : 0);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        sums[q + h] += source.scaled(own.scale[q + h], own.zero[q + h], two.of(h, role.second), of_ones);
        source.load_numbers(own.scale[q + h], own.zero[q + h], q + h, there);
      }
    }
  }
}

// The shared memory of a block.
template <int Warps, int Quads>
struct GroupsMemory {
  SlicesOfX arranged[Warps];
  float found[Warps][4 * Quads];
};

template <class Source, class T, int Warps, int Quads>
__device__ __forceinline__ void sum_groups(const T* __restrict__ x, const unsigned char* __restrict__ weight,
                                           const T* __restrict__ scales, const T* __restrict__ zeros,
                                           T* __restrict__ y, int n, int k, int groups, int shift,
                                           GroupsMemory<Warps, Quads>& memory) {
  const int own_row = blockIdx.x * 4 * Quads, first_row = first_row_of(own_row, 4 * Quads, n);
  float sums[Quads] = {};
  sum_slices<T, Warps>(Source(x, weight, scales, zeros, first_row, n, k, groups, Warps, shift),
                       (k + kStep - 1) / kStep, memory.arranged[threadIdx.x / 32], sums);
  keep_sums(sums, memory.found[threadIdx.x / 32], 0);
  epilogue(memory.found, y, first_row, own_row, n);
}

// Not inlined: in one function, the fast path would be 0.2 to 0.7 us slower.
template <class T, bool HasZeros, int Warps, int Quads>
__device__ __noinline__ void sum_any_groups(const T* x, const unsigned char* weight, const T* scales, const T* zeros,
                                            T* y, int n, int k, int groups, GroupsMemory<Warps, Quads>& memory) {
  sum_groups<AnyGroups<T, HasZeros>, T, Warps, Quads>(x, weight, scales, zeros, y, n, k, groups, 0, memory);
}

template <class T, bool HasZeros, int Warps, int Quads>
__device__ __forceinline__ void product_of_groups(const T* __restrict__ x, const unsigned char* __restrict__ weight,
                                                  const T* __restrict__ scales, const T* __restrict__ zeros,
                                                  T* __restrict__ y, int n, int k, int groups) {
  __shared__ GroupsMemory<Warps, Quads> memory;
  const int shift = max(__clz(groups) - __clz(k / kGroup), 0);
  if (n < 4 * Quads || !aligned(weight, x) || k % kStep != 0 || groups << shift != k / kGroup) {
    sum_any_groups<T, HasZeros, Warps, Quads>(x, weight, scales, zeros, y, n, k, groups, memory);
    return;
  }
  sum_groups<WholeGroups<T, HasZeros>, T, Warps, Quads>(x, weight, scales, zeros, y, n, k, groups, shift, memory);
}

}  // namespace cuda_kernels
