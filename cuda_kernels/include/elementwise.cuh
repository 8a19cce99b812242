// Elementwise functions, to be included by kernels: #include "../include/elementwise.cuh".
#pragma once

#include "pack.cuh"

namespace cuda_kernels {

// y[i] = function(x[i], ...) for every i below `count`, by blocks of `Threads` threads, each of which
// takes `Packs` packs of 16 bytes of every operand. All loads are issued before the first is used.
template <int Threads, int Packs, class T, class Function, class... Inputs>
__device__ __forceinline__ void map(long long count, Function function, T* y, const Inputs*... x) {
  constexpr int inputs = sizeof...(x);
  const bool packs = aligned(x..., y);
  const long long first =
      (static_cast<long long>(blockIdx.x) * Packs * Threads + threadIdx.x) * kPack<T>;
  float values[Packs][inputs][kPack<T>];
#pragma unroll
  for (int p = 0; p < Packs; ++p) {
    const long long at = first + p * Threads * kPack<T>;
    int input = 0;
    if (packs && at + kPack<T> <= count) {
      (load_pack(x + at, values[p][input++]), ...);
    } else {
      for (int i = 0; i < kPack<T>; ++i) {
        input = 0;
        if (at + i < count) ((values[p][input++][i] = static_cast<float>(x[at + i])), ...);
      }
    }
  }
#pragma unroll
  for (int p = 0; p < Packs; ++p) {
    const long long at = first + p * Threads * kPack<T>;
    float results[kPack<T>];
    for (int i = 0; i < kPack<T>; ++i) {
      if constexpr (inputs == 1) {
        results[i] = function(values[p][0][i]);
      } else {
        results[i] = function(values[p][0][i], values[p][1][i]);
      }
    }
    if (packs && at + kPack<T> <= count) {
      store_pack(y + at, results);
    } else {
      for (int i = 0; i < kPack<T>; ++i)
        if (at + i < count) y[at + i] = static_cast<T>(results[i]);
    }
  }
}

}  // namespace cuda_kernels
