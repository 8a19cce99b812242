// KV-cache update: writes new keys or values [batch, heads, count, dim] into a cache [batch, heads, keys, dim], in place, at
// the `positions` [count] that all sequences share: cache[b, h, positions[i]] = fresh[b, h, i], for f32, f16 and bf16.
// Negative positions count from the end, -1 is the last. Positions outside of the cache are dropped. If a position
// occurs twice, either value may remain, for each 16 bytes.
//
// A thread moves 16 bytes. Memory traffic: one read and one write of each new element; the rest of the cache is not
// touched, which is the point of the kernel: as a new value, the cache would be copied.

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
