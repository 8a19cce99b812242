// values, indices = the elements of each row of x [rows, n] in order, and where they were: stable, NaN greatest. Of f32, f16,
// bf16, i32 or i64; ascending, or descending, where equal elements keep their order, too.
//
// A router's choices are rows of some hundred elements, and the experts of all tokens one row of thousands of small integers.
// A block sorts a row, by radix sort, least significant bit first: each bit is a stable partition, with the places from a
// prefix sum over ballots. Bits in which all keys of the row are equal are skipped: 128 experts have 7 left of 64. Keys are
// elements as unsigned numbers of the same order, so -0 is 0; the elements themselves are fetched by their indices.
//
// Memory traffic: the keys and indices, 12 bytes each, are in two scratch arrays, which the L1 and L2 caches hold; each bit
// reads the keys twice and writes them once.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cuda_kernels {

typedef unsigned long long Key;

template <class T>
__device__ __forceinline__ Key key_of(T x) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<Key>(x) ^ (1ull << 63);
  } else {
    const float wide = static_cast<float>(x);
    if (wide != wide) return 0xffffffffu;
    const unsigned bits = __float_as_uint(wide == 0.0f ? 0.0f : wide);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
  }
}

template <>
__device__ __forceinline__ Key key_of(int x) {
  return static_cast<unsigned>(x) ^ 0x80000000u;
}

template <class T, int Threads>
__global__ void __launch_bounds__(Threads) sort_rows(const T* __restrict__ x,
                                                     T* __restrict__ values,
                                                     long long* __restrict__ indices,
                                                     Key* __restrict__ keys,
                                                     int* __restrict__ places,
                                                     bool descending,
                                                     int n) {
  constexpr unsigned every = 0xffffffffu;
  constexpr int warps = Threads / 32;
  __shared__ Key differing[warps];
  __shared__ int counts[warps];
  if (n == 0) return;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const long long row = static_cast<long long>(blockIdx.x) * n;
  x += row;
  Key* from = keys + 2 * row;
  Key* to = from + n;
  int* from_places = places + 2 * row;
  int* to_places = from_places + n;

  const Key flip = descending ? ~0ull : 0ull, first = key_of(x[0]) ^ flip;
  Key others = 0;
  for (int i = threadIdx.x; i < n; i += Threads) {
    const Key key = key_of(x[i]) ^ flip;
    others |= key ^ first;
    from[i] = key;
    from_places[i] = i;
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) others |= __shfl_xor_sync(every, others, distance);
  if (lane == 0) differing[warp] = others;
  __syncthreads();
  others = 0;
  for (int w = 0; w < warps; ++w) others |= differing[w];

#pragma unroll 1
  for (int bit = 0; bit < 64; ++bit) {
    if ((others >> bit & 1) == 0) continue;
    int zeros = 0;  // of the thread, then of the row
    for (int i = threadIdx.x; i < n; i += Threads) zeros += (from[i] >> bit & 1) == 0;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) zeros += __shfl_xor_sync(every, zeros, distance);
    if (lane == 0) counts[warp] = zeros;
    __syncthreads();
    zeros = 0;
    for (int w = 0; w < warps; ++w) zeros += counts[w];
    __syncthreads();
    int next_zero = 0, next_one = zeros;  // where those of the next elements go
#pragma unroll 1
    for (int at = 0; at < n; at += Threads) {
      const int i = at + threadIdx.x;
      const Key key = i < n ? from[i] : 0;
      const bool is_zero = i < n && (key >> bit & 1) == 0;
      const unsigned those = __ballot_sync(every, is_zero);
      if (lane == 0) counts[warp] = __popc(those);
      __syncthreads();
      int before = __popc(those & ((1u << lane) - 1)), all = 0;
      for (int w = 0; w < warps; ++w) {
        if (w < warp) before += counts[w];
        all += counts[w];
      }
      if (i < n) {
        const int place = is_zero ? next_zero + before : next_one + static_cast<int>(threadIdx.x) - before;
        to[place] = key;
        to_places[place] = from_places[i];
      }
      next_zero += all;
      next_one += min(n - at, Threads) - all;
      __syncthreads();
    }
    Key* const keys_before = from;
    int* const places_before = from_places;
    from = to;
    from_places = to_places;
    to = keys_before;
    to_places = places_before;
  }
  for (int i = threadIdx.x; i < n; i += Threads) {
    const int place = from_places[i];
    indices[row + i] = place;
    values[row + i] = x[place];
  }
}

}  // namespace cuda_kernels
