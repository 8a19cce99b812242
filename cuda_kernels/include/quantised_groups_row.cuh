// y = x W^T for one row of x and weights of 4 bits in groups, to be included by quantised_4bit.cu: #include
// "include/quantised_groups_row.cuh".
//
// Weights go from memory to registers, past the L1 cache, which so keeps x. A block has 4 * Quads rows of W, a warp
// each Warps-th slice of 256 of k, 128 bytes of a row; no warp waits for another before a block's last sums. A load
// takes a quad, 4 rows, and each lane has 32 weights of a row, which share a scale. Registers are asked for again, for
// the warp's next slice, as soon as the weights in them became floats: if only after the multiplications, a launch
// takes a tenth longer.
//
// Two quads are A of tensor cores: its row g is the first or second half of row g / 2 of the first quad, its row g + 8
// of the second quad. B has a column for each of the 8 groups of the slice, which has x of it where A has its weights,
// and zeros elsewhere. So each lane gets the sums of its own weights, which it multiplies by their scales:
//
//   lane (g, t): rows g / 2 of both quads, group 4 (g % 2) + t    B: column 2 t + g % 2, from lane (2 t + g % 2, t)
//
// Weights become floats by as few instructions as there are, and are too large by a number z, which is 8, or the zero
// of the group, and 128 more for bf16: sum((q - z) x) = sum(q x) - z sum(x), where sum(x) is a product with A of ones.
#pragma once

#include "quantised.cuh"

namespace cuda_kernels {

// Loads in the order of the program, if `there` is not 0; else registers stay as they are.
// 16 bytes that are needed once:
__device__ __forceinline__ void load_once(uint4& to, const unsigned char* from, unsigned there) {
  asm volatile(
      "{\n.reg .pred is_there;\nsetp.ne.u32 is_there, %5, 0;\n"
      "@is_there ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
      : "+r"(to.x), "+r"(to.y), "+r"(to.z), "+r"(to.w)
      : "l"(from), "r"(there));
}

// 16 bytes that other warps want, too:
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

// 16 bytes from any address.
__device__ __forceinline__ uint4 load_bytes(const unsigned char* from) {
  unsigned char bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = from[i];
  uint4 bits;
  memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

template <class T>
__device__ __forceinline__ float number_of(unsigned short bits) {
  T number;
  memcpy(&number, &bits, sizeof(number));
  return static_cast<float>(number);
}

// x of a slice, 16 bytes a lane; twice, so that the next may be written while this one is still read. The second half
// lies in other banks than the first.
using Slices = uint4[2][36];

// Shared memory of a block.
template <int Warps, int Rows>
struct GroupsMemory {
  Slices arranged[Warps];
  float found[Warps][Rows];
};

template <class T, bool HasZeros, int Warps, int Quads>
struct GroupsProduct {
  using Float = Bare<T>;
  static constexpr int kRows = 4 * Quads;
  // Whether weights are asked for again before they are multiplied, which takes registers for both: too many for 7 quads,
  // and for zeros in bf16, where a word is 7 instructions and not 5.
  static constexpr bool kAsksEarly = Quads <= 4 && (!HasZeros || Float::kTooMuch == 0.0f);

  const unsigned char* __restrict__ weight;
  const T *__restrict__ x, *__restrict__ scales, *__restrict__ zeros;
  int k, groups;
  unsigned there;  // bit q: the lane's row of quad q

  uint4 words[Quads], of_x;
  unsigned short scale[Quads], zero[Quads];
  float sums[Quads];

  // From here on pointers are those of the lane.
  __device__ __forceinline__ GroupsProduct(const T* x_from, const unsigned char* weight_from, const T* scales_from,
                                           const T* zeros_from, int n, int columns, int groups_of_row)
      : k(columns), groups(groups_of_row), there(0) {
    const int lane = threadIdx.x % 32, first = blockIdx.x * kRows + lane / 8;
    const size_t row = min(first, n - 1);
    x = x_from;
    weight = weight_from + row * (k / 2) + lane % 8 * 16;
    scales = scales_from + row * groups;
    if constexpr (HasZeros) zeros = zeros_from + row * groups;
#pragma unroll
    for (int q = 0; q < Quads; ++q) {
      there |= static_cast<unsigned>(first + 4 * q < n) << q;
      words[q] = make_uint4(0, 0, 0, 0);
      scale[q] = zero[q] = 0;
      sums[q] = 0.0f;
    }
    of_x = make_uint4(0, 0, 0, 0);
  }

  // Groups of 32 that share a scale.
  __device__ __forceinline__ int size() const { return k / kGroup / groups; }

  // Asks for what is needed of a slice. Plain: all of it is there and aligned, and 2 to the `shift` groups of 32 share
  // a scale. `mask` is of quads, `there` or 0.
  template <bool IsPlain>
  __device__ __forceinline__ void load_x(int slice) {
    const int lane = threadIdx.x % 32, at = slice * kStep + 8 * lane;
    if constexpr (IsPlain) {
      load_often(of_x, x + at, at < k);
    } else {
      of_x = load_elements(at < k ? x + at : x, at < k ? 8 : 0);
    }
  }

  template <bool IsPlain>
  __device__ __forceinline__ void load_words(int q, int slice, unsigned mask) {
    const unsigned char* const from = weight + static_cast<unsigned>(4 * q) * (k / 2) + slice * (kStep / 2);
    const unsigned there = mask & 1u << q;
    if constexpr (IsPlain) {
      load_once(words[q], from, there);
    } else {
      const bool inside = there != 0 && (slice * kGroups + static_cast<int>(threadIdx.x) % 8) * kGroup < k;
      words[q] = inside ? load_bytes(from) : make_uint4(0, 0, 0, 0);
    }
  }

  template <bool IsPlain>
  __device__ __forceinline__ void load_numbers(int q, int slice, unsigned mask, int shift) {
    const int part = slice * kGroups + threadIdx.x % 8;
    const unsigned at = static_cast<unsigned>(4 * q) * groups + (IsPlain ? part >> shift : part / size());
    const unsigned there = IsPlain || part * kGroup < k ? mask & 1u << q : 0;
    load_number(scale[q], scales + at, there);
    if constexpr (HasZeros) load_number(zero[q], zeros + at, there);
  }

  // A of two multiplications.
  struct Fragments {
    unsigned low[4], high[4];
  };

  // Word i of quads q and q + 1.
  __device__ __forceinline__ Fragments expand(int q, int i) const {
    const bool both = q + 1 < Quads;
    unsigned upper[2][2], lower[2][2] = {};
    Float::expand(word_of(words[q], i), upper[0], upper[1]);
    if (both) Float::expand(word_of(words[both ? q + 1 : q], i), lower[0], lower[1]);
    return {{upper[0][0], lower[0][0], upper[0][1], lower[0][1]}, {upper[1][0], lower[1][0], upper[1][1], lower[1][1]}};
  }

  template <bool IsPlain>
  __device__ __forceinline__ void run(Slices& arranged, int shift) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int mine = 4 * (g % 2) + t;
    const bool gives_x = g / 2 == t, second = g % 2 == 1;
    uint4 b[4] = {};

    const auto mask_of = [&](int slice) { return slice * kStep < k ? there : 0; };
    load_x<IsPlain>(warp);
#pragma unroll
    for (int q = 0; q < Quads; ++q) load_words<IsPlain>(q, warp, mask_of(warp));
#pragma unroll
    for (int q = 0; q < Quads; ++q) load_numbers<IsPlain>(q, warp, mask_of(warp), shift);
    int side = 0;
#pragma unroll 1
    for (int slice = warp; slice * kStep < k; slice += Warps, side ^= 1) {
      const int next = slice + Warps;
      const unsigned mask = mask_of(next);
      // As B wants it: of a word's 8 elements 0 and 4, 2 and 6, then 1 and 5, 3 and 7.
      arranged[side][lane + lane / 16] =
          make_uint4(bytes_of<0x5410>(of_x.x, of_x.z), bytes_of<0x5410>(of_x.y, of_x.w),
                     bytes_of<0x7632>(of_x.x, of_x.z), bytes_of<0x7632>(of_x.y, of_x.w));
      load_x<IsPlain>(next);
      const auto ask_for = [&](int q) {
        load_words<IsPlain>(q, next, mask);
        if (q + 1 < Quads) load_words<IsPlain>(q + 1 < Quads ? q + 1 : q, next, mask);
      };
      Fragments a[4];
      const auto take = [&](int q) {
#pragma unroll
        for (int i = 0; i < 4; ++i) a[i] = expand(q, i);
        ask_for(q);
      };
      if (kAsksEarly) take(0);
      __syncwarp();
      if (gives_x) {
#pragma unroll
        for (int i = 0; i < 4; ++i) b[i] = arranged[side][4 * mine + i + mine / 4];
      }
      const unsigned ones[4] = {Float::kOnes, Float::kOnes, Float::kOnes, Float::kOnes};
      float added[4] = {};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        multiply_add(T(), added, ones, {b[i].x, b[i].y});
        multiply_add(T(), added, ones, {b[i].z, b[i].w});
      }
      const float of_ones = second ? added[1] : added[0];
#pragma unroll
      for (int q = 0; q < Quads; q += 2) {
        float low[4] = {}, high[4] = {};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (!kAsksEarly) a[i] = expand(q, i);
          multiply_add(T(), low, a[i].low, {b[i].x, b[i].y});
          multiply_add(T(), high, a[i].high, {b[i].z, b[i].w});
        }
        if (!kAsksEarly) {
          ask_for(q);
        } else if (q + 2 < Quads) {
          take(q + 2 < Quads ? q + 2 : 0);
        }
#pragma unroll
        for (int h = 0; h < 2 && q + h < Quads; ++h) {
          float z = 8.0f;
          if constexpr (HasZeros) z = number_of<T>(zero[q + h]);
          const float sum = second ? Float::sum(low[2 * h + 1], high[2 * h + 1]) : Float::sum(low[2 * h], high[2 * h]);
          sums[q + h] = fmaf(number_of<T>(scale[q + h]), sum - (Float::kTooMuch + z) * of_ones, sums[q + h]);
          load_numbers<IsPlain>(q + h, next, mask, shift);
        }
      }
    }
  }
};

template <bool IsPlain, class T, bool HasZeros, int Warps, int Quads>
__device__ __forceinline__ void sum_groups(const T* __restrict__ x, const unsigned char* __restrict__ weight,
                                           const T* __restrict__ scales, const T* __restrict__ zeros,
                                           T* __restrict__ y, int n, int k, int groups, int shift,
                                           GroupsMemory<Warps, 4 * Quads>& memory) {
  using Work = GroupsProduct<T, HasZeros, Warps, Quads>;
  auto& [arranged, found] = memory;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Work work(x, weight, scales, zeros, n, k, groups);
  work.template run<IsPlain>(arranged[warp], shift);
#pragma unroll
  for (int q = 0; q < Quads; ++q) {
    float sum = work.sums[q];
#pragma unroll
    for (int away = 1; away < 8; away *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, away);
    if (lane % 8 == 0) found[warp][4 * q + lane / 8] = sum;
  }
  __syncthreads();
  const int row = threadIdx.x, number = blockIdx.x * Work::kRows + row;
  if (row < Work::kRows && number < n) {
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < Warps; ++w) sum += found[w][row];
    y[number] = static_cast<T>(Bare<T>::kUnit * sum);
  }
}

// For any address, k and size of groups. Not inline: in one piece, what is plain would be slower by 0.2 to 0.7 us.
template <class T, bool HasZeros, int Warps, int Quads>
__device__ __noinline__ void sum_any_groups(const T* x, const unsigned char* weight, const T* scales, const T* zeros,
                                            T* y, int n, int k, int groups,
                                            GroupsMemory<Warps, 4 * Quads>& memory) {
  sum_groups<false, T, HasZeros, Warps, Quads>(x, weight, scales, zeros, y, n, k, groups, 0, memory);
}

template <class T, bool HasZeros, int Warps, int Quads>
__device__ __forceinline__ void product_of_groups(const T* __restrict__ x, const unsigned char* __restrict__ weight,
                                                  const T* __restrict__ scales, const T* __restrict__ zeros,
                                                  T* __restrict__ y, int n, int k, int groups) {
  __shared__ GroupsMemory<Warps, 4 * Quads> memory;
  const int shift = max(__clz(groups) - __clz(k / kGroup), 0);
  if (!aligned(weight, x) || k % kStep != 0 || groups << shift != k / kGroup) {
    sum_any_groups<T, HasZeros, Warps, Quads>(x, weight, scales, zeros, y, n, k, groups, memory);
    return;
  }
  sum_groups<true, T, HasZeros, Warps, Quads>(x, weight, scales, zeros, y, n, k, groups, shift, memory);
}

}  // namespace cuda_kernels
