// 16-byte accesses, to be included by kernels: #include "../include/pack.cuh".
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cuda_kernels {

// Elements of a 16-byte access, which a thread makes with one instruction.
template <class T>
constexpr int kPack = 16 / sizeof(T);

// Whether these addresses allow 16-byte accesses. IREE's own buffers do; a
// tensor of another library may start anywhere. An absent operand (null) does not matter.
template <class... Pointers>
__device__ __forceinline__ bool aligned(Pointers... pointers) {
  return ((reinterpret_cast<unsigned long long>(pointers) | ...) & 15) == 0;
}

// Whether two addresses are as far from an aligned one.
__device__ __forceinline__ bool are_in_step(const void* one, const void* other) {
  return ((reinterpret_cast<unsigned long long>(one) - reinterpret_cast<unsigned long long>(other)) & 15) == 0;
}

// The 16 bytes at an aligned address.
template <class T>
__device__ __forceinline__ uint4 load_bits(const T* __restrict__ from) {
  return *reinterpret_cast<const uint4*>(from);
}

// Elements from an address to the next that is aligned.
template <class T>
__device__ __forceinline__ int before_aligned(const T* address) {
  return static_cast<int>(-reinterpret_cast<unsigned long long>(address) & 15) / static_cast<int>(sizeof(T));
}

// The 16 bytes from any element on: two aligned packs, shifted. It reads less than a pack before and behind them.
template <class T>
__device__ __forceinline__ uint4 load_shifted(const T* __restrict__ from) {
  const unsigned offset = reinterpret_cast<unsigned long long>(from) & 15;
  const T* const low = from - offset / sizeof(T);
  const uint4 a = load_bits(low), b = load_bits(low + kPack<T>);
  unsigned words[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
  for (int i = 0; i < 6; ++i) words[i] = offset & 8 ? words[i + 2] : words[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) words[i] = offset & 4 ? words[i + 1] : words[i];
  if constexpr (sizeof(T) < 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = __funnelshift_r(words[i], words[i + 1], 8 * (offset & 3));
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// The same where most addresses are aligned.
template <class T>
__device__ __forceinline__ uint4 load_any(const T* __restrict__ from) {
  return aligned(from) ? load_bits(from) : load_shifted(from);
}

// The i-th of four words, for an i that is known at compile time.
__device__ __forceinline__ unsigned word_of(const uint4& bits, int i) {
  return i == 0 ? bits.x : i == 1 ? bits.y : i == 2 ? bits.z : bits.w;
}

// The elements in 16 bytes, as floats.
template <class T>
__device__ __forceinline__ void unpack(uint4 bits, float* values) {
  T elements[kPack<T>];
  memcpy(elements, &bits, sizeof(bits));
  for (int i = 0; i < kPack<T>; ++i) values[i] = static_cast<float>(elements[i]);
}

// They are the upper halves of floats: the compiler takes two instructions for every other one.
template <>
__device__ __forceinline__ void unpack<__nv_bfloat16>(uint4 bits, float* values) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned word = word_of(bits, i);
    values[2 * i] = __uint_as_float(word << 16);
    values[2 * i + 1] = __uint_as_float(word & 0xffff0000u);
  }
}

// The floats in 16 bytes of elements, rounded to nearest.
template <class T>
__device__ __forceinline__ uint4 packed(const float* values) {
  T elements[kPack<T>];
  for (int i = 0; i < kPack<T>; ++i) elements[i] = static_cast<T>(values[i]);
  uint4 bits;
  memcpy(&bits, elements, sizeof(bits));
  return bits;
}

// Two floats as a pair of 16 bits each in a register.
template <class T>
__device__ __forceinline__ unsigned packed_pair(float low, float high);

template <>
__device__ __forceinline__ unsigned packed_pair<__half>(float low, float high) {
  const __half2 both = __floats2half2_rn(low, high);
  unsigned bits;
  memcpy(&bits, &both, sizeof(bits));
  return bits;
}

template <>
__device__ __forceinline__ unsigned packed_pair<__nv_bfloat16>(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  unsigned bits;
  memcpy(&bits, &both, sizeof(bits));
  return bits;
}

// The first `count` of kPack elements, from any address; zeros for the others.
template <class T>
__device__ __forceinline__ uint4 load_elements(const T* __restrict__ from, int count) {
  float values[kPack<T>];
  for (int i = 0; i < kPack<T>; ++i) values[i] = i < count ? static_cast<float>(from[i]) : 0.0f;
  return packed<T>(values);
}

// The first `left` of kPack elements of 16 bits from any address, one by one, and zeros for the others.
template <class T>
__device__ __forceinline__ uint4 one_by_one(const T* from, int left) {
  static_assert(sizeof(T) == 2);
  uint4 found{};
#pragma unroll 1
  for (int i = 0; i < kPack<T>; ++i) {
    unsigned short bits = 0;
    if (i < left) memcpy(&bits, from + i, sizeof(bits));
    found = {found.x >> 16 | found.y << 16, found.y >> 16 | found.z << 16, found.z >> 16 | found.w << 16,
             found.w >> 16 | static_cast<unsigned>(bits) << 16};
  }
  return found;
}

// The first `left` of them where they are in registers.
template <class T>
__device__ __forceinline__ uint4 first_of(const uint4& value, int left) {
  unsigned found[4] = {value.x, value.y, value.z, value.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    constexpr int of_word = 4 / sizeof(T);
    found[i] &= left >= (i + 1) * of_word ? ~0u : left > i * of_word ? 0xffffu : 0u;
  }
  return {found[0], found[1], found[2], found[3]};
}

// An array that is read in aligned 16 bytes, two next to each other: where the first of such pairs lies, and the last.
struct Array {
  const char *first, *last;

  Array() = default;

  // That has any address: for pairs that are known to be in theirs.
  static __device__ __forceinline__ Array of_all() {
    Array found;
    found.first = nullptr, found.last = reinterpret_cast<const char*>(~0ull);
    return found;
  }

  template <class T>
  __device__ __forceinline__ Array(const T* begin, long long count) {
    const unsigned long long from = reinterpret_cast<unsigned long long>(begin), to = from + count * sizeof(T);
    const bool has_any = count * static_cast<long long>(sizeof(T)) >= 64;  // less may have none
    first = reinterpret_cast<const char*>(has_any ? (from + 15) / 16 * 16 : 1);
    last = reinterpret_cast<const char*>(has_any ? to / 16 * 16 - 32 : 0);
  }
};

// kPack elements from any address: a pair of aligned 16 bytes, which is shifted when it is there. So no load waits for
// another, and none is outside the array.
template <class T>
struct Shifted {
  uint4 low, high;

  Shifted() = default;
  __device__ __forceinline__ Shifted(const T* from, const Array& array) {
    const char* there = pair_of(from);
    there = there < array.first ? array.first : there;
    there = there > array.last ? array.last : there;
    if (array.first > array.last) return;
    low = __ldg(reinterpret_cast<const uint4*>(there));
    high = __ldg(reinterpret_cast<const uint4*>(there) + 1);
  }

  static __device__ __forceinline__ const char* pair_of(const T* from) {
    return reinterpret_cast<const char*>(reinterpret_cast<unsigned long long>(from) / 16 * 16);
  }

  // The first `left` elements from `from` on, which is what was loaded, and zeros for the others.
  __device__ __forceinline__ uint4 value(const T* from, int left, const Array& array) const {
    if (left <= 0) return {};
    const char* const there = pair_of(from);
    if (there < array.first || there > array.last) return one_by_one(from, left);
    const unsigned bytes = static_cast<unsigned>(reinterpret_cast<unsigned long long>(from)) % 16;
    const bool by_8 = bytes & 8, by_4 = bytes & 4;
    const unsigned a = by_8 ? low.z : low.x, b = by_8 ? low.w : low.y, c = by_8 ? high.x : low.z;
    const unsigned d = by_8 ? high.y : low.w, e = by_8 ? high.z : high.x, f = by_8 ? high.w : high.y;
    const unsigned words[5] = {by_4 ? b : a, by_4 ? c : b, by_4 ? d : c, by_4 ? e : d, by_4 ? f : e};
    unsigned found[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) found[i] = __funnelshift_r(words[i], words[i + 1], bytes % 4 * 8);
    const uint4 whole = {found[0], found[1], found[2], found[3]};
    return left < kPack<T> ? first_of<T>(whole, left) : whole;
  }
};

// 16 bytes with the same number in all elements.
template <class T>
__device__ __forceinline__ uint4 repeated(float value) {
  float values[kPack<T>];
  for (int i = 0; i < kPack<T>; ++i) values[i] = value;
  return packed<T>(values);
}

// kPack elements from an aligned address, as floats.
template <class T>
__device__ __forceinline__ void load_pack(const T* __restrict__ from, float* values) {
  unpack<T>(load_bits(from), values);
}

// Writes kPack floats to an aligned address, rounded to nearest.
template <class T>
__device__ __forceinline__ void store_pack(T* __restrict__ to, const float* values) {
  *reinterpret_cast<uint4*>(to) = packed<T>(values);
}

// `Size` elements, a pack or one, as floats.
template <int Size, class T>
__device__ __forceinline__ void load_some(const T* __restrict__ from, float* values) {
  if constexpr (Size == 1) {
    values[0] = static_cast<float>(*from);
  } else {
    load_pack(from, values);
  }
}

// Writes them.
template <int Size, class T>
__device__ __forceinline__ void store_some(T* __restrict__ to, const float* values) {
  if constexpr (Size == 1) {
    *to = static_cast<T>(values[0]);
  } else {
    store_pack(to, values);
  }
}

}  // namespace cuda_kernels
