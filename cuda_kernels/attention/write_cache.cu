// KV-cache update: writes new keys or values [batch, heads, count, dim] into a cache [batch, heads, keys, dim], in place, at
// the `positions` [count] that all sequences share: cache[b, h, positions[i]] = fresh[b, h, i], for f32, f16 and bf16.
// Negative positions count from the end, -1 is the last. Positions outside of the cache are dropped. If a position
// occurs twice, either value may remain, for each 16 bytes.
//
// A thread moves 16 bytes. Memory traffic: one read and one write of each new element; the rest of the cache is not
// touched, which is the point of the kernel: as a new value, the cache would be copied.
//
// `write_pages` writes rows [count, heads, dim] of tokens into a cache in pages, each at its slot: page times page size plus
// the place in the page. A slot below 0 or behind the pages is dropped. The cache may be of 8 bits: numbers are divided by a
// scale, for all or for each head, and rounded to the nearest; what is beyond the type becomes its largest number, since one
// infinity would spoil all that reads the cache. NaN stays NaN. A thread moves eight numbers.

#include <cuda_fp8.h>

#include "../include/pack.cuh"

namespace cuda_kernels {

template <class T, int Threads>
__global__ void __launch_bounds__(Threads) write_cache(T* __restrict__ cache,
                                                       const T* __restrict__ fresh,
                                                       const long long* __restrict__ positions,
                                                       int heads,
                                                       int count,
                                                       int keys,
                                                       int dim) {
  constexpr int size = kPack<T>;
  const int packs = (dim + size - 1) / size;
  const long long index = static_cast<long long>(blockIdx.x) * Threads + threadIdx.x;
  if (index >= static_cast<long long>(count) * packs) return;
  const long long row = index / packs;
  const int at = static_cast<int>(index % packs) * size;
  long long position = positions[row];
  if (position < 0) position += keys;
  if (position < 0 || position >= keys) return;

  const long long head = static_cast<long long>(blockIdx.z) * heads + blockIdx.y;
  const T* const from = fresh + (head * count + row) * dim + at;
  T* const to = cache + (head * keys + position) * dim + at;
  if (aligned(cache, fresh) && dim % size == 0) {
    *reinterpret_cast<uint4*>(to) = load_bits(from);
  } else {
    for (int i = 0; i < min(size, dim - at); ++i) to[i] = from[i];
  }
}

template <class U>
constexpr bool kIsE5M2 = false;
template <>
constexpr bool kIsE5M2<__nv_fp8_e5m2> = true;

template <class U>
__device__ __forceinline__ unsigned char narrowed(float value) {
  return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, kIsE5M2<U> ? __NV_E5M2 : __NV_E4M3);
}

__device__ __forceinline__ float scale_of(int head, const float* scales, int count) { return scales[count == 1 ? 0 : head]; }

// Into a cache [pages, heads, page_size, dim], or by position [pages, page_size, heads, dim]. Scales: what numbers of a cache of
// 8 bits are multiplied by when they are read, and how many there are.
template <class T, class U, bool ByPosition, int Threads, class... Scales>
__global__ void __launch_bounds__(Threads) write_pages(U* __restrict__ cache,
                                                       const T* __restrict__ fresh,
                                                       const long long* __restrict__ slots,
                                                       int heads,
                                                       int count,
                                                       int pages,
                                                       int page_size,
                                                       int dim,
                                                       Scales... scales) {
  constexpr int size = 8;
  const int packs = (dim + size - 1) / size;
  const long long index = static_cast<long long>(blockIdx.x) * Threads + threadIdx.x, row = index / packs;
  if (row >= static_cast<long long>(count) * heads) return;
  const int at = static_cast<int>(index % packs) * size, head = static_cast<int>(row % heads);
  const long long slot = slots[row / heads];
  if (slot < 0 || slot >= static_cast<long long>(pages) * page_size) return;
  const long long place =
      ByPosition ? slot * heads + head : (slot / page_size * heads + head) * page_size + slot % page_size;
  const T* const from = fresh + row * dim + at;
  U* const to = cache + place * dim + at;
  const bool packed = aligned(cache, fresh) && dim % size == 0;
  if constexpr (sizeof...(Scales) == 0) {
    if (packed) {
      *reinterpret_cast<uint4*>(to) = load_bits(from);
    } else {
      for (int i = 0; i < min(size, dim - at); ++i) to[i] = from[i];
    }
  } else {
    const float scale = scale_of(head, scales...);
    if (packed) {
      float values[size];
      unpack<T>(load_bits(from), values);
      unsigned words[2] = {};
#pragma unroll
      for (int i = 0; i < size; ++i) words[i / 4] |= static_cast<unsigned>(narrowed<U>(values[i] / scale)) << i % 4 * 8;
      *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
    } else {
      for (int i = 0; i < min(size, dim - at); ++i) to[i].__x = narrowed<U>(static_cast<float>(from[i]) / scale);
    }
  }
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX; NVRTC is told which are wanted.
#ifndef __CUDACC_RTC__
#define INSTANTIATE(T)                               \
  template __global__ void write_cache<T, 128>( \
      T*, const T*, const long long*, int, int, int, int)
INSTANTIATE(float);
INSTANTIATE(__half);
INSTANTIATE(__nv_bfloat16);
#endif

}  // namespace cuda_kernels
