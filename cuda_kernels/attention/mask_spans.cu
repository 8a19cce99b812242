// Which keys a mask shows, as attention wants to know it: for each head of a mask [batches, heads, rows, keys] a bit for each
// key, and for each 64 rows the range of keys outside of which they see nothing. So attention skips tiles of keys, and
// reads bits instead of the mask where a tile is neither all seen nor all hidden. A model's layers share what this gives.
//
// A mask of bools shows where it is true. One of floats shows where it is not -inf; where what it shows is 0 everywhere, as
// in a causal mask, there is nothing to add, and the bits are all of it. Numbers from kLow down hide keys too, as models
// write the lowest finite one, if the row shows another key by a number above half of it: no exponential is left of them.
// A row without such a key is the mean of what it hides, so its numbers are added.
//
// A block takes 64 rows, a warp one after the other: each lane reads 16 bytes of the row, neighbours' bits become words.
// Memory traffic: one read of the mask; what is written is 1/8 of a mask of bools.

#include "../include/mask_spans.cuh"
#include "../include/pack.cuh"

namespace cuda_kernels {

constexpr int kWarps = 16;

template <class T>
constexpr float kLow = -9e8f;
template <>
constexpr float kLow<__half> = -65504.0f;

// What is known of a row.
struct Row {
  bool adds = false;      // something to scores of keys that are shown
  bool has_low = false;   // finite numbers that hide
  bool is_clear = false;  // a key is shown that hides these
};

// Whether an element shows its key, and what that says of the row.
__device__ __forceinline__ bool shows(bool element, Row&) { return element; }

template <class T>
__device__ __forceinline__ bool shows(T element, Row& row) {
  const float value = static_cast<float>(element);
  const bool hides = value <= kLow<T>;
  row.adds |= !hides && !(value == 0.0f);
  row.has_low |= hides && value != -INFINITY;
  row.is_clear |= value > kLow<T> / 2;
  return !hides;
}

__device__ __forceinline__ int least(int number) { 
  for (int distance = 16; distance > 0; distance /= 2) number = min(number, __shfl_xor_sync(~0u, number, distance));
  return number;
}

template <class T>
__global__ void __launch_bounds__(32 * kWarps) mask_spans(
    const T* __restrict__ mask, int* __restrict__ spans, int heads, int rows, int keys) {
  constexpr int size = 16 / sizeof(T);  // keys of a lane
  constexpr int step = 32 * size;       // of a warp
  const int groups = spans_of_rows(rows), words = words_of_bits(keys);
  const int of_head = blockIdx.x / groups, group = blockIdx.x - of_head * groups;
  mask += static_cast<long long>(of_head) * rows * keys;
  unsigned* const all_bits = reinterpret_cast<unsigned*>(spans) + static_cast<long long>(heads) * groups * kSpanWords +
                             static_cast<long long>(of_head) * rows * words;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_row = group * kSpanRows, last_row = min(rows, first_row + kSpanRows);
  const bool packs = aligned(mask) && keys % size == 0;

  __shared__ Span of_warp[kWarps];
  Span span = Span::of_nothing();
  for (int row = first_row + warp; row < last_row; row += kWarps) {
    const T* const from = mask + static_cast<long long>(row) * keys;
    unsigned* const to = all_bits + static_cast<long long>(row) * words;
    int begin = keys, end = 0, count = 0;
    Row known;
#pragma unroll 4
    for (int start = 0; start < keys; start += step) {
      const int key = start + lane * size;
      T elements[size];
      if (packs && key < keys) {
        const uint4 bytes = load_bits(from + key);
        memcpy(elements, &bytes, sizeof(bytes));
      } else {
        for (int i = 0; i < size; ++i) elements[i] = key + i < keys ? from[key + i] : from[0];
      }
      unsigned bits = 0;
      for (int i = 0; i < size; ++i) {
        if (key + i >= keys) continue;
        bits |= static_cast<unsigned>(shows(elements[i], known)) << i;
      }
      if (bits != 0) {
        begin = min(begin, key + __ffs(bits) - 1);
        end = key + 32 - __clz(bits);
        count += __popc(bits);
      }
      constexpr int lanes = 32 / size;  // of a word
      unsigned word = bits << lane % lanes * size;
#pragma unroll
      for (int distance = 1; distance < lanes; distance *= 2) word |= __shfl_xor_sync(~0u, word, distance);
      const int at = start / 32 + lane / lanes;
      if (lane % lanes == 0 && at < words) to[at] = word;
    }
    begin = least(begin);
    end = -least(-end);
    for (int distance = 16; distance > 0; distance /= 2) count += __shfl_xor_sync(~0u, count, distance);
    const bool has_low = __any_sync(~0u, known.has_low);
    Span own{begin, end, begin, end, __any_sync(~0u, known.adds) ? 1 : 0, has_low ? 1 : 0};
    if (has_low && !__any_sync(~0u, known.is_clear)) own = {0, keys, 0, 0, 1, 1};
    if (count < end - begin || end <= begin) own.whole_end = own.whole_begin = 0;
    span.add(own);
  }
  if (lane == 0) of_warp[warp] = span;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < kWarps; ++i) span.add(of_warp[i]);
    span.write(spans + static_cast<long long>(blockIdx.x) * kSpanWords);
  }
}

}  // namespace cuda_kernels
