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

// The 16 bytes at an aligned address.
template <class T>
__device__ __forceinline__ uint4 load_bits(const T* __restrict__ from) {
  return *reinterpret_cast<const uint4*>(from);
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
