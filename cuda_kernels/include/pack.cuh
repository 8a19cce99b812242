// 16-byte accesses, to be included by kernels: #include "include/pack.cuh".
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cuda_kernels {

// Elements that a thread reads or writes at once, with one instruction: 16 bytes of them.
template <class T>
constexpr int kPack = 16 / sizeof(T);

// Whether 16-byte accesses are possible from these addresses on. IREE's own buffers allow them; a
// tensor of another library may begin anywhere. An absent operand (null) forbids nothing.
template <class... Pointers>
__device__ __forceinline__ bool aligned(Pointers... pointers) {
  return ((reinterpret_cast<unsigned long long>(pointers) | ...) & 15) == 0;
}

// kPack elements from an aligned address, as floats.
template <class T>
__device__ __forceinline__ void load_pack(const T* __restrict__ from, float* values) {
  const uint4 bits = *reinterpret_cast<const uint4*>(from);
  T elements[kPack<T>];
  memcpy(elements, &bits, sizeof(bits));
  for (int i = 0; i < kPack<T>; ++i) values[i] = static_cast<float>(elements[i]);
}

// kPack floats to an aligned address, rounded to nearest.
template <class T>
__device__ __forceinline__ void store_pack(T* __restrict__ to, const float* values) {
  T elements[kPack<T>];
  for (int i = 0; i < kPack<T>; ++i) elements[i] = static_cast<T>(values[i]);
  uint4 bits;
  memcpy(&bits, elements, sizeof(bits));
  *reinterpret_cast<uint4*>(to) = bits;
}

}  // namespace cuda_kernels
