// Rotary position embedding in every layout that models have, for f32, f16 and bf16, in f32: the first `rotated`
// elements of each head are pairs (a, b), which become
//
//   (a * cos - b * sin, b * cos + a * sin)
//
// and the others stay as they are. The elements of a pair are beside each other (GPT-J, Cohere, GLM) or `rotated / 2` apart
// (GPT-NeoX, Llama); `pairs_in` and `pairs_out` say whether they are beside each other in x and in y. x is [batch, heads, length,
// dim], or [batch, length, heads, dim] as a projection leaves it; y is [batch, heads, length, dim], or as x is. cos and sin
// are tables [tables, length, rotated] of f32, of the elements of y.
//
// A thread takes one pack of 16 bytes of a's and one of b's, of `Heads` heads, for which it reads the tables once; or a
// pack of the elements that stay. Where packs do not fit, as with 40 elements that are rotated, halves of packs may.
//
// Memory traffic: one read and one write of each element; of the tables heads / Heads reads, all but the first of the caches.

#include "../include/pack.cuh"

namespace cuda_kernels {

template <int Bytes>
struct Bits {
  using type = uint2;
};

template <>
struct Bits<16> {
  using type = uint4;
};

// Elements that lie beside each other, 8 or 16 bytes at an aligned address, as floats.
template <int Count, class T>
__device__ __forceinline__ void load_piece(const T* __restrict__ from, float* values) {
  using Access = typename Bits<Count * sizeof(T)>::type;
  const Access bits = *reinterpret_cast<const Access*>(from);
  T elements[Count];
  memcpy(elements, &bits, sizeof(bits));
  for (int i = 0; i < Count; ++i) values[i] = static_cast<float>(elements[i]);
}

template <int Count, class T>
__device__ __forceinline__ void store_piece(T* __restrict__ to, const float* values) {
  using Access = typename Bits<Count * sizeof(T)>::type;
  T elements[Count];
  for (int i = 0; i < Count; ++i) elements[i] = static_cast<T>(values[i]);
  Access bits;
  memcpy(&bits, elements, sizeof(bits));
  *reinterpret_cast<Access*>(to) = bits;
}

// How addresses may be accessed: by packs, of which a thread has all, by halves of packs, of which it may have fewer,
// or by elements.
enum class By { kElements, kHalves, kPacks };

// A thread's a's and b's, of which each has kPack or fewer: in two halves from `at`, or alternating from 2 * at.
template <class T, int Size>
__device__ __forceinline__ void load_pairs(
    const T* __restrict__ from, bool are_pairs, int half, int at, int count, By by, float (&a)[Size], float (&b)[Size]) {
  constexpr int pack = kPack<T>;
  const T* const first = are_pairs ? from + 2 * at : from + at;
  const T* const second = are_pairs ? first + Size : first + half;
  if (by == By::kElements) {
#pragma unroll
    for (int i = 0; i < Size; ++i) {
      if (i >= count) continue;
      a[i] = static_cast<float>(are_pairs ? first[2 * i] : first[i]);
      b[i] = static_cast<float>(are_pairs ? first[2 * i + 1] : second[i]);
    }
    return;
  }
  float both[2 * Size];
  if (by == By::kHalves) {
    constexpr int piece = Size / 2;
    const int ends[2] = {are_pairs ? 2 * count : count, are_pairs ? 2 * count - Size : count};
#pragma unroll
    for (int i = 0; i < Size; i += piece) {
      if (i < ends[0]) load_piece<piece>(first + i, both + i);
      if (i < ends[1]) load_piece<piece>(second + i, both + Size + i);
    }
  } else {
#pragma unroll
    for (int i = 0; i < Size; i += pack) {
      load_pack(first + i, both + i);
      load_pack(second + i, both + Size + i);
    }
  }
#pragma unroll
  for (int i = 0; i < Size; ++i) {
    a[i] = are_pairs ? both[2 * i] : both[i];
    b[i] = are_pairs ? both[2 * i + 1] : both[Size + i];
  }
}

template <class T, int Size>
__device__ __forceinline__ void store_pairs(
    T* __restrict__ to, bool are_pairs, int half, int at, int count, By by, const float (&a)[Size], const float (&b)[Size]) {
  T* const first = are_pairs ? to + 2 * at : to + at;
  T* const second = are_pairs ? first + Size : first + half;
  if (by == By::kElements) {
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
  if (by == By::kPacks) {
    store_pack(first, both);
    store_pack(second, both + Size);
    return;
  }
  constexpr int piece = Size / 2;
  const int ends[2] = {are_pairs ? 2 * count : count, are_pairs ? 2 * count - Size : count};
#pragma unroll
  for (int i = 0; i < Size; i += piece) {
    if (i < ends[0]) store_piece<piece>(first + i, both + i);
    if (i < ends[1]) store_piece<piece>(second + i, both + Size + i);
  }
}

template <class T, int Threads, int Heads>
__device__ __forceinline__ void rotate(const T* __restrict__ x,
                                       const float* __restrict__ cos,
                                       const float* __restrict__ sin,
                                       T* __restrict__ y,
                                       bool from_position,
                                       bool to_position,
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
  const long long by_heads = (static_cast<long long>(blockIdx.z) * heads + first) * head + position * dim;
  const long long by_position = ((static_cast<long long>(blockIdx.z) * length + position) * heads + first) * dim;
  const long long from = from_position ? by_position : by_heads, next_from = from_position ? dim : head;
  const long long to = to_position ? by_position : by_heads, next_to = to_position ? dim : head;
  constexpr int piece = size / 2;
  By by = By::kElements;
  if (aligned(x, y, cos, sin)) {
    if (half % piece == 0 && dim % piece == 0) by = By::kHalves;
    if (half % size == 0 && dim % size == 0) by = By::kPacks;
  }

  if (pack >= packs) {
    const int at = rotated + (pack - packs) * size, count = min(size, dim - at);
#pragma unroll
    for (int h = 0; h < Heads; ++h) {
      if (first + h >= heads) continue;
      const T* const source = x + from + h * next_from + at;
      T* const target = y + to + h * next_to + at;
      if (by == By::kPacks) {
        *reinterpret_cast<uint4*>(target) = load_bits(source);
      } else if (by == By::kHalves) {
        for (int i = 0; i < count; i += piece) {
          *reinterpret_cast<uint2*>(target + i) = *reinterpret_cast<const uint2*>(source + i);
        }
      } else {
        for (int i = 0; i < count; ++i) target[i] = source[i];
      }
    }
    return;
  }

  const int at = pack * size, count = min(size, half - at);
  const long long angle = (static_cast<long long>(blockIdx.z % tables) * length + position) * rotated;
  float cos_a[size], cos_b[size], sin_a[size], sin_b[size];
  load_pairs(cos + angle, pairs_out, half, at, count, by, cos_a, cos_b);
  load_pairs(sin + angle, pairs_out, half, at, count, by, sin_a, sin_b);
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    if (first + h >= heads) continue;
    float a[size], b[size], turned_a[size], turned_b[size];
    load_pairs(x + from + h * next_from, pairs_in, half, at, count, by, a, b);
#pragma unroll
    for (int i = 0; i < size; ++i) {
      turned_a[i] = a[i] * cos_a[i] - b[i] * sin_a[i];
      turned_b[i] = b[i] * cos_b[i] + a[i] * sin_b[i];
    }
    store_pairs(y + to + h * next_to, pairs_out, half, at, count, by, turned_a, turned_b);
  }
}

template <class T, int Threads, int Heads, bool FromPosition, bool ToPosition>
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
      x, cos, sin, y, FromPosition, ToPosition, pairs_in != 0, pairs_out != 0, heads, length, dim, rotated, tables);
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX; NVRTC is told which are wanted.
#ifndef __CUDACC_RTC__
#define INSTANTIATE_LAYOUT(T, FROM, TO)                                                           \
  template __global__ void rotary_any<T, 128, 2, FROM, TO>(                                       \
      const T*, const float*, const float*, T*, int, int, int, int, int, int, int)
#define INSTANTIATE(T)                                                                            \
  INSTANTIATE_LAYOUT(T, false, false);                                                            \
  INSTANTIATE_LAYOUT(T, true, false);                                                             \
  INSTANTIATE_LAYOUT(T, true, true)
INSTANTIATE(float);
INSTANTIATE(__half);
INSTANTIATE(__nv_bfloat16);
#endif

}  // namespace cuda_kernels
