// Rotary position embedding in every layout that models have, for f32, f16 and bf16, in f32: the first `rotated`
// elements of each head are pairs (a, b), which become
//
//   (a * cos - b * sin, b * cos + a * sin)
//
// and the others stay as they are. The elements of a pair are beside each other (GPT-J, Cohere, GLM) or `rotated / 2` apart
// (GPT-NeoX, Llama); `pairs_in` and `pairs_out` say whether they are beside each other in x and in y. x is [batch, heads, length,
// dim], or [batch, length, heads, dim] as a projection leaves it; y is [batch, heads, length, dim] in both cases. cos and sin
// are tables [tables, length, rotated] of f32, of the elements of y.
//
// A thread takes one pack of 16 bytes of a's and one of b's, of `Heads` heads, for which it reads the tables once; or a
// pack of the elements that stay.
//
// Memory traffic: one read and one write of each element; of the tables heads / Heads reads, all but the first of the caches.

#include "../include/pack.cuh"

namespace cuda_kernels {

// A thread's a's and b's, of which each has kPack or fewer: in two halves from `at`, or alternating from 2 * at.
template <class T, int Size>
__device__ __forceinline__ void load_pairs(
    const T* __restrict__ from, bool are_pairs, int half, int at, int count, bool whole, float (&a)[Size], float (&b)[Size]) {
  constexpr int pack = kPack<T>;
  const T* const first = are_pairs ? from + 2 * at : from + at;
  const T* const second = are_pairs ? first + Size : first + half;
  if (!whole) {
#pragma unroll
    for (int i = 0; i < Size; ++i) {
      if (i >= count) continue;
      a[i] = static_cast<float>(are_pairs ? first[2 * i] : first[i]);
      b[i] = static_cast<float>(are_pairs ? first[2 * i + 1] : second[i]);
    }
    return;
  }
  float both[2 * Size];
#pragma unroll
  for (int i = 0; i < Size; i += pack) {
    load_pack(first + i, both + i);
    load_pack(second + i, both + Size + i);
  }
#pragma unroll
  for (int i = 0; i < Size; ++i) {
    a[i] = are_pairs ? both[2 * i] : both[i];
    b[i] = are_pairs ? both[2 * i + 1] : both[Size + i];
  }
}

template <class T, int Size>
__device__ __forceinline__ void store_pairs(T* __restrict__ to,
                                            bool are_pairs,
                                            int half,
                                            int at,
                                            int count,
                                            bool whole,
                                            const float (&a)[Size],
                                            const float (&b)[Size]) {
  T* const first = are_pairs ? to + 2 * at : to + at;
  T* const second = are_pairs ? first + Size : first + half;
  if (!whole) {
#pragma unroll
    for (int i = 0; i < Size; ++i) {
      if (i >= count) continue;
      (are_pairs ? first[2 * i] : first[i]) = static_cast<T>(a[i]);
      (are_pairs ? first[2 * i + 1] : second[i]) = static_cast<T>(b[i]);
    }
    return;
  }
  float both[2 * Size];
#pragma unroll
  for (int i = 0; i < 2 * Size; ++i) {
    const float alternating = i % 2 ? b[i / 2] : a[i / 2];
    const float halves = i < Size ? a[i % Size] : b[i % Size];
    both[i] = are_pairs ? alternating : halves;
  }
  store_pack(first, both);
  store_pack(second, both + Size);
}

template <class T, int Threads, int Heads>
__device__ __forceinline__ void rotate(const T* __restrict__ x,
                                       const float* __restrict__ cos,
                                       const float* __restrict__ sin,
                                       T* __restrict__ y,
                                       bool by_position,
                                       bool pairs_in,
                                       bool pairs_out,
                                       int heads,
                                       int length,
                                       int dim,
                                       int rotated,
                                       int tables) {
  constexpr int size = kPack<T>;
  const int half = rotated / 2, packs = (half + size - 1) / size, kept = (dim - rotated + size - 1) / size;
  const long long index = static_cast<long long>(blockIdx.x) * Threads + threadIdx.x;
  if (index >= static_cast<long long>(length) * (packs + kept)) return;
  const long long position = index / (packs + kept);
  const int pack = static_cast<int>(index % (packs + kept));

  const int first = blockIdx.y * Heads;
  const long long head = static_cast<long long>(length) * dim;
  const long long to = (static_cast<long long>(blockIdx.z) * heads + first) * head + position * dim;
  const long long from =
      by_position ? ((static_cast<long long>(blockIdx.z) * length + position) * heads + first) * dim : to;
  const long long next = by_position ? dim : head;  // head of x
  const bool whole = aligned(x, y, cos, sin) && half % size == 0 && dim % size == 0;

  if (pack >= packs) {
    const int at = rotated + (pack - packs) * size, count = min(size, dim - at);
#pragma unroll
    for (int h = 0; h < Heads; ++h) {
      if (first + h >= heads) continue;
      const T* const source = x + from + h * next + at;
      T* const target = y + to + h * head + at;
      if (whole) {
        *reinterpret_cast<uint4*>(target) = load_bits(source);
      } else {
        for (int i = 0; i < count; ++i) target[i] = source[i];
      }
    }
    return;
  }

  const int at = pack * size, count = min(size, half - at);
  const long long angle = (static_cast<long long>(blockIdx.z % tables) * length + position) * rotated;
  float cos_a[size], cos_b[size], sin_a[size], sin_b[size];
  load_pairs(cos + angle, pairs_out, half, at, count, whole, cos_a, cos_b);
  load_pairs(sin + angle, pairs_out, half, at, count, whole, sin_a, sin_b);
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    if (first + h >= heads) continue;
    float a[size], b[size], turned_a[size], turned_b[size];
    load_pairs(x + from + h * next, pairs_in, half, at, count, whole, a, b);
#pragma unroll
    for (int i = 0; i < size; ++i) {
      turned_a[i] = a[i] * cos_a[i] - b[i] * sin_a[i];
      turned_b[i] = b[i] * cos_b[i] + a[i] * sin_b[i];
    }
    store_pairs(y + to + h * head, pairs_out, half, at, count, whole, turned_a, turned_b);
  }
}

template <class T, int Threads, int Heads, bool ByPosition>
__global__ void __launch_bounds__(Threads) rotary_any(const T* __restrict__ x,
                                                      const float* __restrict__ cos,
                                                      const float* __restrict__ sin,
                                                      T* __restrict__ y,
                                                      int pairs_in,
                                                      int pairs_out,
                                                      int heads,
                                                      int length,
                                                      int dim,
                                                      int rotated,
                                                      int tables) {
  rotate<T, Threads, Heads>(
      x, cos, sin, y, ByPosition, pairs_in != 0, pairs_out != 0, heads, length, dim, rotated, tables);
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX.
#define INSTANTIATE(T)                                                                            \
  template __global__ void rotary_any<T, 128, 2, false>(                                          \
      const T*, const float*, const float*, T*, int, int, int, int, int, int, int);               \
  template __global__ void rotary_any<T, 128, 2, true>(                                           \
      const T*, const float*, const float*, T*, int, int, int, int, int, int, int)
INSTANTIATE(float);
INSTANTIATE(__half);
INSTANTIATE(__nv_bfloat16);

}  // namespace cuda_kernels
