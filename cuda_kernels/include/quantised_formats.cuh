// Memory layouts of quantised weights, and how they become operand A of tensor cores; to be included by kernels for many
// rows of x: #include "../include/quantised_formats.cuh". quantised_many.cuh is the kernels' common part.
//
// A step is 64 of k of a row of W, and 128 bytes of a row of x. A layout says which bytes of a row a step needs, and what
// they are: a lane (g, t) has two of each 8 of k, 2t and 2t + 1, of the rows g and g + 8, as the instructions want them.
// So x stays as it is in memory. Weights are rounded once, to the type of x, after they are multiplied by their scale:
//
//   Groups4       4-bit integers, scales and perhaps zeros of groups in arrays of their own
//   Q4, Q8, Q4K   blocks of GGUF
//   Eights        e4m3, a scale for each equal part of the rows: in f32, of sums
//   EightBlocks   e4m3, a scale for each 128 x 128 weights
//
// A layout has kUnits pieces of kUnit bytes in a row of a step, kPitch bytes from row to row in shared memory,
// offset(step, unit), the place of a piece in a row of W, and
//   start(operands, row, step)      for the lane's rows `row` and `row` + 8, from a step on;
//   request()                       loads the scales of the next step, which `fragments` will need;
//   fragments(from, half, t, a)     A of two MMAs, 32 of k of a step, from the lane's first row in shared memory.
#pragma once

#include <cuda_fp8.h>

#include "mma.cuh"
#include "pack.cuh"

namespace cuda_kernels {

constexpr int kStepK = 64;

// What a kernel has of W.
template <class T, class Scale>
struct QuantisedWeights {
  const unsigned char* bytes;
  const Scale* scales;
  const T* zeros;
  int n, k, parts;  // parts: groups of a row, or parts of the rows with a scale
};

// Two elements in a register.
template <class T>
struct Two;

template <>
struct Two<__half> {
  static constexpr bool kIsF16 = true;
  static __device__ __forceinline__ unsigned mul(unsigned a, unsigned b) {
    asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
    return a;
  }
  static __device__ __forceinline__ unsigned fma(unsigned a, unsigned b, unsigned c) {
    asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(a) : "r"(b), "r"(c));
    return a;
  }
  static __device__ __forceinline__ unsigned sub(unsigned a, unsigned b) {
    asm("sub.rn.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
    return a;
  }
  static __device__ __forceinline__ float2 wide(unsigned pair) {
    __half2 both;
    memcpy(&both, &pair, sizeof(both));
    return __half22float2(both);
  }
};

template <>
struct Two<__nv_bfloat16> {
  static constexpr bool kIsF16 = false;
  static __device__ __forceinline__ unsigned mul(unsigned a, unsigned b) { return fma(a, b, 0x80008000); }
  static __device__ __forceinline__ unsigned fma(unsigned a, unsigned b, unsigned c) {
    asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(a) : "r"(b), "r"(c));
    return a;
  }
  static __device__ __forceinline__ unsigned sub(unsigned a, unsigned b) { return fma(b, 0xbf80bf80, a); }
  static __device__ __forceinline__ float2 wide(unsigned pair) {
    return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000)};
  }
};

__device__ __forceinline__ unsigned twice(unsigned short bits) { return __byte_perm(bits, 0, 0x1010); }

// (word & mask) | more as one lop3, which the compiler does not emit for two constants.
__device__ __forceinline__ unsigned masked_or(unsigned word, unsigned mask, unsigned more) {
  unsigned result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(word), "r"(mask), "r"(more));
  return result;
}

__device__ __forceinline__ unsigned short short_at(const unsigned char* from) {
  return *reinterpret_cast<const unsigned short*>(from);
}

__device__ __forceinline__ float half_at(const unsigned char* from) {
  return __half2float(*reinterpret_cast<const __half*>(from));
}

// Two f16 times a factor, plus a term, in f32, rounded to T.
template <class T>
__device__ __forceinline__ unsigned scaled_pair(unsigned pair, float factor, float term) {
  const float2 wide = Two<__half>::wide(pair);
  return packed_pair<T>(fmaf(wide.x, factor, term), fmaf(wide.y, factor, term));
}

// The group of 32 of k that comes next, if `per` of them share a scale.
struct GroupCounter {
  int per, group, position;
  __device__ __forceinline__ void start(int of, int step) {
    per = of, group = 2 * step / per, position = 2 * step % per;
  }
  __device__ __forceinline__ void advance() {
    if (++position == per) position = 0, ++group;
  }
};

template <class T, bool HasZeros>
struct Groups4 {
  using Element = T;
  using Weights = QuantisedWeights<T, T>;
  static constexpr int kUnit = 16, kUnits = 2, kPitch = 32;
  static constexpr bool kScalesRows = false;
  static __device__ __forceinline__ size_t row_bytes(const Weights& of) { return of.k / 2; }
  static __device__ __forceinline__ size_t offset(int step, int unit) { return static_cast<size_t>(step) * 32 + 16 * unit; }

  unsigned short scale[2][2], zero[2][2];  // of each half of a step, of two rows
  const unsigned short *scales, *zeros;    // of the first row
  int apart, last;
  GroupCounter counter;

  __device__ __forceinline__ void start(const Weights& of, int row, int step) {
    counter.start(of.k / 32 / of.parts, step);
    row = min(row, of.n - 1), last = of.parts - 1, apart = min(8, of.n - 1 - row) * of.parts;
    const size_t at = static_cast<size_t>(row) * of.parts;
    scales = reinterpret_cast<const unsigned short*>(of.scales) + at;
    if constexpr (HasZeros) zeros = reinterpret_cast<const unsigned short*>(of.zeros) + at;
  }

  __device__ __forceinline__ void request() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = min(counter.group, last);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        scale[half][i] = __ldg(scales + at + i * apart);
        if constexpr (HasZeros) zero[half][i] = __ldg(zeros + at + i * apart);
      }
      counter.advance();
    }
  }

  // A word has 8 of k, and byte t of it a lane's two. With 1024 or 128 before it in the same 16 bits, an integer is a
  // float; what is too much is subtracted exactly.
  __device__ __forceinline__ void fragments(const unsigned char* from, int half, int t, unsigned (&a)[2][4]) const {
    constexpr bool is_f16 = Two<T>::kIsF16;
    const unsigned order = is_f16 ? 0x1111 * t : 0x1111 * t + 0x4400;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint4 words = *reinterpret_cast<const uint4*>(from + 8 * i * kPitch + 16 * half);
      const unsigned factor = twice(scale[half][i]);
      const unsigned minus = HasZeros ? twice(zero[half][i]) : 0;
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const unsigned word = word_of(words, c);
        unsigned pair;
        if constexpr (is_f16) {
          pair = masked_or(__byte_perm(word, word, order), 0x00f0000f, 0x64006400);
          pair = Two<T>::fma(pair, 0x2c003c00, HasZeros ? 0xd400e400 : 0xd480e408);  // the upper one is 16 q
        } else {
          pair = masked_or(__byte_perm(word, word >> 4, order), 0x000f000f, 0x43004300);
          pair = Two<T>::fma(pair, 0x3f803f80, HasZeros ? 0xc300c300 : 0xc308c308);
        }
        if constexpr (HasZeros) pair = Two<T>::sub(pair, minus);
        a[c / 2][2 * (c % 2) + i] = Two<T>::mul(pair, factor);
      }
    }
  }
};

// Two 4-bit integers, in the low or the high halves of two bytes, as f16, with `less` subtracted.
template <unsigned Less>
__device__ __forceinline__ unsigned small_pair(unsigned bytes, bool is_high) {
  const unsigned spread = __byte_perm(is_high ? bytes >> 4 : bytes, 0, 0x4140);
  return Two<__half>::sub(masked_or(spread, 0x000f000f, 0x64006400), Less);
}

// Q4_0, and with a minimum Q4_1. Byte i of a block has elements i and 16 + i.
template <class T, bool HasMinimum>
struct Q4 {
  using Element = T;
  using Weights = QuantisedWeights<T, unsigned char>;
  static constexpr int kBlock = HasMinimum ? 20 : 18, kUnit = 4, kUnits = 2 * kBlock / 4, kPitch = 2 * kBlock;
  static constexpr bool kScalesRows = false;
  static __device__ __forceinline__ size_t row_bytes(const Weights& of) { return static_cast<size_t>(of.k / 32) * kBlock; }
  static __device__ __forceinline__ size_t offset(int step, int unit) {
    return static_cast<size_t>(step) * (2 * kBlock) + 4 * unit;
  }
  __device__ __forceinline__ void start(const Weights&, int, int) {}
  __device__ __forceinline__ void request() {}
  __device__ __forceinline__ void fragments(const unsigned char* from, int half, int t, unsigned (&a)[2][4]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned char* const block = from + 8 * i * kPitch + half * kBlock;
      const float scale = half_at(block), minimum = HasMinimum ? half_at(block + 2) : 0.0f;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const unsigned bytes = short_at(block + kBlock - 16 + 8 * c + 2 * t);
#pragma unroll
        for (int j = 0; j < 2; ++j)
          a[j][2 * c + i] =
              scaled_pair<T>(small_pair<HasMinimum ? 0x64006400 : 0x64086408>(bytes, j == 1), scale, minimum);
      }
    }
  }
};

// Q8_0: an f16 scale and 32 integers of 8 bits.
template <class T>
struct Q8 {
  using Element = T;
  using Weights = QuantisedWeights<T, unsigned char>;
  static constexpr int kUnit = 4, kUnits = 17, kPitch = 68;
  static constexpr bool kScalesRows = false;
  static __device__ __forceinline__ size_t row_bytes(const Weights& of) { return static_cast<size_t>(of.k / 32) * 34; }
  static __device__ __forceinline__ size_t offset(int step, int unit) { return static_cast<size_t>(step) * 68 + 4 * unit; }
  __device__ __forceinline__ void start(const Weights&, int, int) {}
  __device__ __forceinline__ void request() {}
  __device__ __forceinline__ void fragments(const unsigned char* from, int half, int t, unsigned (&a)[2][4]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned char* const block = from + 8 * i * kPitch + half * 34;
      const float scale = half_at(block);
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        // q + 128 in the last bits of 1024
        const unsigned bytes = short_at(block + 2 + 8 * c + 2 * t) ^ 0x8080u;
        const unsigned pair = Two<__half>::sub(__byte_perm(bytes, 0x64, 0x4140), 0x64806480);
        a[c / 2][2 * (c % 2) + i] = scaled_pair<T>(pair, scale, 0.0f);
      }
    }
  }
};

// Q4_K: blocks of 256 with f16 d and dmin, 6-bit scales and minima of 8 parts in 12 bytes, and 128 bytes, of which each 32
// have two parts, in low and in high halves. A step has the first 16 bytes and 32 of those.
template <class T>
struct Q4K {
  using Element = T;
  using Weights = QuantisedWeights<T, unsigned char>;
  static constexpr int kUnit = 16, kUnits = 3, kPitch = 48;
  static constexpr bool kScalesRows = false;
  static __device__ __forceinline__ size_t row_bytes(const Weights& of) { return static_cast<size_t>(of.k / 256) * 144; }
  static __device__ __forceinline__ size_t offset(int step, int unit) {
    return static_cast<size_t>(step / 4) * 144 + (unit == 0 ? 0 : 32 * (step % 4) + 16 * unit);
  }
  int first;  // of 8 parts, that of the step
  __device__ __forceinline__ void start(const Weights&, int, int step) { first = 2 * step % 8 - 2; }
  __device__ __forceinline__ void request() { first = (first + 2) % 8; }
  __device__ __forceinline__ void fragments(const unsigned char* from, int half, int t, unsigned (&a)[2][4]) const {
    const int part = first + half;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned char *const block = from + 8 * i * kPitch, *const sixes = block + 4;
      int scale, minimum;
      if (part < 4) {
        scale = sixes[part] & 63, minimum = sixes[part + 4] & 63;
      } else {
        scale = sixes[part + 4] & 15 | sixes[part - 4] >> 6 << 4;
        minimum = sixes[part + 4] >> 4 | sixes[part] >> 6 << 4;
      }
      const float factor = half_at(block) * scale, term = -half_at(block + 2) * minimum;
#pragma unroll
      for (int c = 0; c < 4; ++c)
        a[c / 2][2 * (c % 2) + i] = scaled_pair<T>(
            small_pair<0x64006400>(short_at(block + 16 + 8 * c + 2 * t), half == 1), factor, term);
    }
  }
};

// Two e4m3 as f16, exactly.
__device__ __forceinline__ unsigned half_pair_of_e4m3(unsigned short two) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  unsigned pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(two));
  return pair;
#else
  // The sign and the other bits where f16 has them, and a factor, because the exponent's bias is another. 0x7f is NaN.
  const unsigned spread = __byte_perm(two, 0, 0x1404), nan = ((spread & 0x7f007f00) + 0x01000100 & 0x80008000) >> 15;
  return Two<__half>::mul(spread & 0x80008000 | (spread & 0x7f007f00) >> 1, 0x5c005c00) | nan * 0x7fff;
#endif
}

template <class T>
__device__ __forceinline__ unsigned pair_of_e4m3(unsigned short two) {
  const unsigned pair = half_pair_of_e4m3(two);
  if constexpr (Two<T>::kIsF16) return pair;
  const float2 wide = Two<__half>::wide(pair);  // bf16 is the upper half of f32
  return __byte_perm(__float_as_uint(wide.x), __float_as_uint(wide.y), 0x7632);
}

template <class T>
struct EightsOfRow {
  using Element = T;
  static constexpr int kUnit = 16, kUnits = 4, kPitch = 80;  // so that eight rows are in different banks
  static __device__ __forceinline__ size_t offset(int step, int unit) {
    return static_cast<size_t>(step) * 64 + 16 * unit;
  }
};

template <class T>
struct Eights : EightsOfRow<T> {
  using Weights = QuantisedWeights<T, float>;
  static constexpr bool kScalesRows = true;
  static __device__ __forceinline__ size_t row_bytes(const Weights& of) { return of.k; }
  static __device__ __forceinline__ float row_scale(const Weights& of, int row) {
    return of.scales[of.parts == of.n ? row : row / (of.n / of.parts)];
  }
  __device__ __forceinline__ void start(const Weights&, int, int) {}
  __device__ __forceinline__ void request() {}
  __device__ __forceinline__ void fragments(const unsigned char* from, int half, int t, unsigned (&a)[2][4]) const {
#pragma unroll
    for (int c = 0; c < 4; ++c)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        a[c / 2][2 * (c % 2) + i] = pair_of_e4m3<T>(short_at(from + 8 * i * this->kPitch + 32 * half + 8 * c + 2 * t));
  }
};

template <class T>
struct EightBlocks : EightsOfRow<T> {
  using Weights = QuantisedWeights<T, float>;
  static constexpr bool kScalesRows = false;
  static __device__ __forceinline__ size_t row_bytes(const Weights& of) { return of.k; }

  const float* scales;  // both rows are in the same 128
  float scale;
  int last, step;

  __device__ __forceinline__ void start(const Weights& of, int row, int first_step) {
    scales = of.scales + static_cast<size_t>(min(row, of.n - 1) / 128) * of.parts;
    last = of.parts - 1, step = first_step;
  }
  __device__ __forceinline__ void request() { scale = __ldg(scales + min(step++ / 2, last)); }
  __device__ __forceinline__ void fragments(const unsigned char* from, int half, int t, unsigned (&a)[2][4]) const {
#pragma unroll
    for (int c = 0; c < 4; ++c)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const unsigned pair = half_pair_of_e4m3(short_at(from + 8 * i * this->kPitch + 32 * half + 8 * c + 2 * t));
        a[c / 2][2 * (c % 2) + i] = scaled_pair<T>(pair, scale, 0.0f);
      }
  }
};

}  // namespace cuda_kernels
