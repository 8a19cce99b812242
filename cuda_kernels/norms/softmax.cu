// Softmax of rows: y = exp(x - max(x)) / sum(exp(x - max(x))), for f32, f16 and bf16, in f32.
//
// A group of threads holds a row in registers (../include/row.cuh). Each thread finds the maximum of its
// own elements and the sum of their exponentials below it; sums of different maxima are then brought
// to the row's ("online" softmax), so a row that is read in parts needs no pass for the maximum.
//
// As in PyTorch, a row with a NaN or +inf, or of nothing but -inf, becomes NaN.
//
// Memory traffic: one read and one write of each element; two reads, the second of the caches, of
// rows of more than Threads * Values elements.

#include "../include/exponential.cuh"
#include "../include/row.cuh"

namespace cuda_kernels {

// What is subtracted from exponents below this maximum: -inf - -inf would be NaN.
__device__ __forceinline__ float shift(float maximum) {
  return maximum == -INFINITY ? 0.0f : maximum;
}

// Statistics of some of a row's elements: their maximum, and the sum of their exponentials relative to it.
struct Part {
  float maximum, sum;
};

template <class T, int Threads, int Values>
__global__ void __launch_bounds__(Threads)
    softmax(const T* __restrict__ x, T* __restrict__ y, int rows, int columns, int group) {
  const Row<T, Threads, Values> row(rows, columns, group, aligned(x, y));
  x += row.first;
  y += row.first;
  float values[Values];

  // While the row is in registers, the exponentials take the place of its elements.
  float maximum = -INFINITY, sum = 0.0f;
  for (int start = 0; start < row.columns; start += row.part) {
    row.load(x, start, values, -INFINITY);
    const float before = maximum;
    for (int i = 0; i < Values; ++i) maximum = fmaxf(maximum, values[i]);
    const float base = shift(maximum);
    sum *= exponential(before - base);
    for (int i = 0; i < Values; ++i) {
      values[i] = exponential(values[i] - base);
      sum += values[i];
    }
  }

  const int members = min(group, 32);
  Part part = {maximum_of(maximum, members), 0.0f};
  part.sum = sum_of(sum * exponential(maximum - shift(part.maximum)), members);
  if (group > 32) {
    __shared__ Part parts[Threads / 32];
    const Part other = across_warps(part, group, parts);
    part.maximum = maximum_of(other.maximum, group / 32);
    part.sum = sum_of(other.sum * exponential(other.maximum - shift(part.maximum)), group / 32);
  }
  const float scale = 1.0f / part.sum, base = shift(part.maximum);

  if (row.is_whole()) {
    const float factor = exponential(maximum - base) * scale;
    for (int i = 0; i < Values; ++i) values[i] *= factor;
    row.store(y, 0, values);
    return;
  }
  for (int start = 0; start < row.columns; start += row.part) {
    row.load(x, start, values);
    for (int i = 0; i < Values; ++i) values[i] = exponential(values[i] - base) * scale;
    row.store(y, start, values);
  }
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX; NVRTC is told which are wanted.
#ifndef __CUDACC_RTC__
template __global__ void softmax<float, 256, 32>(const float*, float*, int, int, int);
template __global__ void softmax<__half, 256, 32>(const __half*, __half*, int, int, int);
template __global__ void softmax<__nv_bfloat16, 256, 32>(const __nv_bfloat16*, __nv_bfloat16*, int, int, int);
#endif

}  // namespace cuda_kernels
