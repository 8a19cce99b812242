// Elementwise functions, to be included by kernels: #include "../include/elementwise.cuh".
#pragma once

#include "pack.cuh"

namespace cuda_kernels {

// y[i] = function(x[i], ...) for every i below `count`, by blocks of `Threads` threads, each of which
// takes `Packs` packs of 16 bytes of every operand, which are aligned in y. All loads are issued before the first is used.
// The first and last whole packs and what lies beside them are for the first threads, an element each: so operands that are out
// of step with y may be read by neighbouring packs.
template <int Threads, int Packs, class T, class Function, class... Inputs>
__device__ __forceinline__ void map(long long count, Function function, T* y, const Inputs*... x) {
  constexpr int inputs = sizeof...(x), size = kPack<T>;
  static_assert(Threads >= 4 * size, "a thread for each edge");
  const int before = before_aligned(y) + size, head = before < count ? before : static_cast<int>(count);
  const long long packs = count - head > size ? (count - head) / size - 1 : 0;
  const long long first = static_cast<long long>(blockIdx.x) * Packs * Threads + threadIdx.x;
  uint4 bits[Packs][inputs];
#pragma unroll
  for (int p = 0; p < Packs; ++p) {
    const long long at = head + (first + p * Threads) * size;
    int input = 0;
    if (first + p * Threads < packs) ((bits[p][input++] = load_any(x + at)), ...);
  }
#pragma unroll
  for (int p = 0; p < Packs; ++p) {
    const long long at = head + (first + p * Threads) * size;
    if (first + p * Threads >= packs) continue;
    float values[inputs][size], results[size];
#pragma unroll
    for (int input = 0; input < inputs; ++input) unpack<T>(bits[p][input], values[input]);
#pragma unroll
    for (int i = 0; i < size; ++i) {
      if constexpr (inputs == 1) {
        results[i] = function(values[0][i]);
      } else {
        results[i] = function(values[0][i], values[1][i]);
      }
    }
    store_pack(y + at, results);
  }
  const long long edge = first < head ? first : first + packs * size;
  if (first < 4 * size && edge < count) y[edge] = static_cast<T>(function(static_cast<float>(x[edge])...));
}

}  // namespace cuda_kernels
