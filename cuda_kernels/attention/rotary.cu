// Rotary position embedding of queries or keys [batch, heads, length, dim], in the half-split form of
// GPT-NeoX and Llama, for f32, f16 and bf16, in f32: with x = (a, b) in halves,
//
//   y = x * cos + (-b, a) * sin
//
// of x as it is, or of x [batch, length, heads, dim], position by position, as a projection
// leaves it: `rotary_by_position` gives y [batch, heads, length, dim] nevertheless, and `rotary_bshd` as x is. There
// cos and sin are tables [tables, length, dim] of as many positions as x has, one table for each
// sequence of the batch or one for all.
//
// A thread takes 16 bytes of the first half and their partners in the second, of `Heads` heads: the
// tables are read once for all of these.
//
// Memory traffic: one read and one write of each element; of the tables heads / Heads reads, all but
// the first of the caches.

#include "../include/pack.cuh"

namespace cuda_kernels {

template <class T, int Threads, int Heads, bool FromPosition, bool ToPosition>
__device__ __forceinline__ void turn(const T* __restrict__ x,
                                     const T* __restrict__ cos,
                                     const T* __restrict__ sin,
                                     T* __restrict__ y,
                                     int heads,
                                     int length,
                                     int dim,
                                     int tables) {
  constexpr int size = kPack<T>;
  const int half = dim / 2, packs = (half + size - 1) / size;
  const bool whole = aligned(x, cos, sin, y) && half % size == 0;
  const long long index = static_cast<long long>(blockIdx.x) * Threads + threadIdx.x;
  if (index >= static_cast<long long>(length) * packs) return;
  const long long position = index / packs;
  const int at = static_cast<int>(index % packs) * size, count = min(size, half - at);

  // As memory has them, so that 16-bit elements take half the registers of floats until they are used.
  const auto load = [&](const T* from) { return whole ? load_bits(from) : load_elements(from, count); };
  const auto store = [&](T* to, const float(&values)[size]) {
    if (whole) {
      store_pack(to, values);
    } else {
      for (int i = 0; i < size; ++i)
        if (i < count) to[i] = static_cast<T>(values[i]);
    }
  };

  uint4 a[Heads], b[Heads];
  const int first = blockIdx.y * Heads;
  const long long head = static_cast<long long>(length) * dim;
  const long long by_heads = (static_cast<long long>(blockIdx.z) * heads + first) * head + position * dim + at;
  const long long by_position = ((static_cast<long long>(blockIdx.z) * length + position) * heads + first) * dim + at;
  const long long from = FromPosition ? by_position : by_heads, next_from = FromPosition ? dim : head;
  const long long to = ToPosition ? by_position : by_heads, next_to = ToPosition ? dim : head;
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    if (first + h >= heads) continue;
    a[h] = load(x + from + h * next_from);
    b[h] = load(x + from + h * next_from + half);
  }
  const long long angle = (static_cast<long long>(blockIdx.z % tables) * length + position) * dim + at;
  const uint4 cos_a = load(cos + angle), cos_b = load(cos + angle + half);
  const uint4 sin_a = load(sin + angle), sin_b = load(sin + angle + half);

#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    if (first + h >= heads) continue;
    float left[size], right[size], cosine[size], sine[size], turned[size];
    unpack<T>(a[h], left);
    unpack<T>(b[h], right);
    unpack<T>(cos_a, cosine);
    unpack<T>(sin_a, sine);
    for (int i = 0; i < size; ++i) turned[i] = left[i] * cosine[i] - right[i] * sine[i];
    store(y + to + h * next_to, turned);
    unpack<T>(cos_b, cosine);
    unpack<T>(sin_b, sine);
    for (int i = 0; i < size; ++i) turned[i] = right[i] * cosine[i] + left[i] * sine[i];
    store(y + to + h * next_to + half, turned);
  }
}

template <class T, int Threads, int Heads>
__global__ void __launch_bounds__(Threads) rotary(const T* __restrict__ x,
                                                  const T* __restrict__ cos,
                                                  const T* __restrict__ sin,
                                                  T* __restrict__ y,
                                                  int heads,
                                                  int length,
                                                  int dim,
                                                  int tables) {
  turn<T, Threads, Heads, false, false>(x, cos, sin, y, heads, length, dim, tables);
}

template <class T, int Threads, int Heads>
__global__ void __launch_bounds__(Threads) rotary_by_position(const T* __restrict__ x,
                                                              const T* __restrict__ cos,
                                                              const T* __restrict__ sin,
                                                              T* __restrict__ y,
                                                              int heads,
                                                              int length,
                                                              int dim,
                                                              int tables) {
  turn<T, Threads, Heads, true, false>(x, cos, sin, y, heads, length, dim, tables);
}

template <class T, int Threads, int Heads>
__global__ void __launch_bounds__(Threads) rotary_bshd(const T* __restrict__ x,
                                                       const T* __restrict__ cos,
                                                       const T* __restrict__ sin,
                                                       T* __restrict__ y,
                                                       int heads,
                                                       int length,
                                                       int dim,
                                                       int tables) {
  turn<T, Threads, Heads, true, true>(x, cos, sin, y, heads, length, dim, tables);
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX; NVRTC is told which are wanted.
#ifndef __CUDACC_RTC__
#define INSTANTIATE(T)                                                                                         \
  template __global__ void rotary<T, 128, 2>(const T*, const T*, const T*, T*, int, int, int, int);            \
  template __global__ void rotary_by_position<T, 128, 2>(const T*, const T*, const T*, T*, int, int, int, int); \
  template __global__ void rotary_bshd<T, 128, 2>(const T*, const T*, const T*, T*, int, int, int, int)
INSTANTIATE(float);
INSTANTIATE(__half);
INSTANTIATE(__nv_bfloat16);
#endif

}  // namespace cuda_kernels
