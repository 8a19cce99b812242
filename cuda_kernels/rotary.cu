// Rotary position embedding of queries or keys [batch, heads, length, dim], in the half-split form of
// GPT-NeoX and Llama, for f32, f16 and bf16, in f32: with x = (a, b) in halves,
//
//   y = x * cos + (-b, a) * sin
//
// where cos and sin are tables [tables, length, dim] of as many positions as x has, one table for each
// sequence of the batch or one for all.
//
// A thread takes 16 bytes of the first half and their partners in the second, of `Heads` heads: the
// tables are read once for all of these.
//
// Memory traffic: one read and one write of each element; of the tables heads / Heads reads, all but
// the first of the caches.

#include "include/pack.cuh"

namespace cuda_kernels {

template <class T, int Threads, int Heads>
__global__ void __launch_bounds__(Threads) rotary(const T* __restrict__ x,
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

  const auto load = [&](const T* from, float(&values)[size]) {
    if (whole) {
      load_pack(from, values);
    } else {
      for (int i = 0; i < size; ++i) values[i] = i < count ? static_cast<float>(from[i]) : 0.0f;
    }
  };
  const auto store = [&](T* to, const float(&values)[size]) {
    if (whole) {
      store_pack(to, values);
    } else {
      for (int i = 0; i < size; ++i)
        if (i < count) to[i] = static_cast<T>(values[i]);
    }
  };

  const long long angle = (blockIdx.z % tables * length + position) * dim + at;
  float cos_a[size], cos_b[size], sin_a[size], sin_b[size];
  load(cos + angle, cos_a);
  load(cos + angle + half, cos_b);
  load(sin + angle, sin_a);
  load(sin + angle + half, sin_b);

  float a[Heads][size], b[Heads][size];
  const int first = blockIdx.y * Heads;
  const long long head = static_cast<long long>(length) * dim;
  const long long from = (static_cast<long long>(blockIdx.z) * heads + first) * head + position * dim + at;
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    if (first + h >= heads) continue;
    load(x + from + h * head, a[h]);
    load(x + from + h * head + half, b[h]);
  }
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    if (first + h >= heads) continue;
    float turned_a[size], turned_b[size];
    for (int i = 0; i < size; ++i) {
      turned_a[i] = a[h][i] * cos_a[i] - b[h][i] * sin_a[i];
      turned_b[i] = b[h][i] * cos_b[i] + a[h][i] * sin_b[i];
    }
    store(y + from + h * head, turned_a);
    store(y + from + h * head + half, turned_b);
  }
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX.
#define INSTANTIATE(T)                       \
  template __global__ void rotary<T, 256, 2>( \
      const T*, const T*, const T*, T*, int, int, int, int)
INSTANTIATE(float);
INSTANTIATE(__half);
INSTANTIATE(__nv_bfloat16);

}  // namespace cuda_kernels
