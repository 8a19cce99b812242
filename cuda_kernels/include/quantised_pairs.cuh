// Two 16-bit elements in a register, and how quantised weights become such, to be included by kernels:
// #include "../include/quantised_pairs.cuh".
//
// An integer of 4 bits behind the exponent of 1024 or 128 is a float, of which what is too much is subtracted exactly.
// Products with a scale are rounded once, to the type.
#pragma once

#include <cuda_fp8.h>

#include "mma.cuh"
#include "pack.cuh"

namespace cuda_kernels {

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

// An f16 that multiplies small integers in T and is rounded once: as it is, or, in bf16, as a sum of two, of which the second
// has the last 3 bits; so products with it are exact.
template <class T>
struct Factor;

template <>
struct Factor<__half> {
  unsigned both;
  __device__ __forceinline__ explicit Factor(unsigned short bits) : both(twice(bits)) {}
  __device__ __forceinline__ unsigned times(unsigned pair) const { return Two<__half>::mul(pair, both); }
};

template <>
struct Factor<__nv_bfloat16> {
  unsigned most, rest;
  __device__ __forceinline__ explicit Factor(unsigned short bits) {
    const float wide = Two<__half>::wide(bits).x;
    most = packed_pair<__nv_bfloat16>(wide, wide);
    const float less = wide - __uint_as_float(most & 0xffff0000);
    rest = packed_pair<__nv_bfloat16>(less, less);
    if ((bits & 0x7c00u) == 0x7c00u) rest = 0;  // of infinities and NaN
  }
  __device__ __forceinline__ unsigned times(unsigned pair) const {
    return Two<__nv_bfloat16>::fma(pair, most, Two<__nv_bfloat16>::mul(pair, rest));
  }
};

// Two 4-bit integers, the lowest bits of each half of a word, as T, with `Less` subtracted.
template <class T, int Less>
__device__ __forceinline__ unsigned centred_pair(unsigned word) {
  if constexpr (Two<T>::kIsF16) {
    return Two<T>::sub(masked_or(word, 0x000f000f, 0x64006400), 0x64006400 + 0x10001 * Less);
  }
  return Two<T>::fma(masked_or(word, 0x000f000f, 0x43004300), 0x3f803f80, 0xc300c300 + 0x10001 * Less);
}

// Whether weights of 8 bits are integers, not e4m3.
template <class Number>
constexpr bool kIsInteger = false;
template <>
constexpr bool kIsInteger<signed char> = true;

// Two bytes, each in a half of a word.
__device__ __forceinline__ unsigned spread(unsigned bytes) { return __byte_perm(bytes, 0, 0x4140); }

// Two integers of 8 bits, each in a half of a word, as f16, exactly: with 128 added, behind the exponent of 1024.
__device__ __forceinline__ unsigned half_pair_of_int8(unsigned spread_bytes) {
  return Two<__half>::sub(spread_bytes ^ 0x64806480, 0x64806480);
}

// The same as T. A bf16 behind the exponent of 128 has room for 7 bits. The eighth, which counts -128, is where it makes 256
// of the 128 that is subtracted.
template <class T>
__device__ __forceinline__ unsigned pair_of_int8(unsigned spread_bytes) {
  if constexpr (Two<T>::kIsF16) return half_pair_of_int8(spread_bytes);
  const unsigned sign = masked_or(spread_bytes, 0x00800080, 0x43004300);
  return Two<T>::fma(sign, 0xbf80bf80, masked_or(spread_bytes, 0x007f007f, 0x43004300));
}

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

}  // namespace cuda_kernels
