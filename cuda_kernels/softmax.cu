// Softmax of rows: y = exp(x - max(x)) / sum(exp(x - max(x))), for f32, f16 and bf16, in f32.
//
// A group of threads holds a row in registers (include/row.cuh). Each thread finds the maximum of its
// own elements and the sum of their exponentials below it; sums of different maxima are then brought
// to the row's ("online" softmax), so a row that is read in parts needs no pass for the maximum.
//
// As PyTorch does, a row with a NaN or +inf, or of nothing but -inf, becomes NaN.
//
// Memory traffic: one read and one write of each element; two reads, the second of the caches, of
// rows of more than Threads * Values elements.

#include "include/row.cuh"

namespace cuda_kernels {

// What is subtracted from exponents below this maximum: -inf - -inf would be NaN.
__device__ __forceinline__ float shift(float maximum) {
  return maximum == -INFINITY ? 0.0f : maximum;
}

template <class T, int Threads, int Values>
__global__ void __launch_bounds__(Threads)
    softmax(const T* __restrict__ x, T* __restrict__ y, int rows, int columns, int group) {
  const Row<T, Threads, Values> row(rows, columns, group, aligned(x, y));
  x += row.first;
  y += row.first;
  float values[Values];

  float maximum = -INFINITY, sum = 0.0f;
  for (int start = 0; start < row.columns; start += row.part) {
    row.load(x, start, values, -INFINITY);
    const float before = maximum;
    for (int i = 0; i < Values; ++i) maximum = fmaxf(maximum, values[i]);
    sum *= __expf(before - shift(maximum));
    for (int i = 0; i < Values; ++i) sum += __expf(values[i] - shift(maximum));
  }

  const float largest = reduce<Threads>(maximum, group, Maximum());
  sum = reduce<Threads>(sum * __expf(maximum - shift(largest)), group, Sum());
  const float scale = 1.0f / sum;

  for (int start = 0; start < row.columns; start += row.part) {
    if (!row.is_whole()) row.load(x, start, values);
    for (int i = 0; i < Values; ++i) values[i] = __expf(values[i] - shift(largest)) * scale;
    row.store(y, start, values);
  }
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX.
template __global__ void softmax<float, 512, 16>(const float*, float*, int, int, int);
template __global__ void softmax<__half, 512, 16>(const __half*, __half*, int, int, int);
template __global__ void softmax<__nv_bfloat16, 512, 16>(const __nv_bfloat16*, __nv_bfloat16*, int, int, int);

}  // namespace cuda_kernels
