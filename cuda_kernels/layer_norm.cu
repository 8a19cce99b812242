// Layer normalisation of rows: y = (x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias, for
// f32, f16 and bf16, in f32. Weight and bias may each be absent (null).
//
// A group of threads holds a row in registers (include/row.cuh), so the variance is summed from
// differences to the mean, as it is defined: mean(x * x) - mean(x)^2 would lose every digit of rows
// that lie far from zero. What the differences add up to corrects the mean, which the sum of a long row and
// f32 itself round: it stays a number of its own.
//
// Memory traffic: one read and one write of each element, and weight and bias from the caches; three
// reads, two of them of the caches, of rows of more than Threads * Values elements.

#include "include/row.cuh"

namespace cuda_kernels {

template <class T, int Threads, int Values>
__global__ void __launch_bounds__(Threads) layer_norm(const T* __restrict__ x,
                                                      const T* __restrict__ weight,
                                                      const T* __restrict__ bias,
                                                      T* __restrict__ y,
                                                      float epsilon,
                                                      int rows,
                                                      int columns,
                                                      int group) {
  const Row<T, Threads, Values> row(rows, columns, group, aligned(x, weight, bias, y));
  x += row.first;
  y += row.first;
  float values[Values];

  float sum = 0.0f;
  for (int start = 0; start < row.columns; start += row.part) {
    row.load(x, start, values);
    for (int i = 0; i < Values; ++i) sum += values[i];
  }
  const float about = reduce<Threads>(sum, group, Sum()) / columns;

  float differences = 0.0f, squares = 0.0f;
  for (int start = 0; start < row.columns; start += row.part) {
    if (!row.is_whole()) row.load(x, start, values);
    const int held = row.held(start);
    for (int i = 0; i < Values; ++i) {
      const float difference = i < held ? values[i] - about : 0.0f;
      differences += difference;
      squares += difference * difference;
    }
  }
  const float correction = reduce<Threads>(differences, group, Sum()) / columns;
  const float variance = reduce<Threads>(squares, group, Sum()) / columns - correction * correction;
  const float scale = rsqrtf(variance + epsilon);

  for (int start = 0; start < row.columns; start += row.part) {
    if (!row.is_whole()) row.load(x, start, values);
    for (int i = 0; i < Values; ++i) values[i] = (values[i] - about - correction) * scale;
    float factors[Values];
    if (weight != nullptr) {
      row.load(weight, start, factors);
      for (int i = 0; i < Values; ++i) values[i] *= factors[i];
    }
    if (bias != nullptr) {
      row.load(bias, start, factors);
      for (int i = 0; i < Values; ++i) values[i] += factors[i];
    }
    row.store(y, start, values);
  }
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX.
#define INSTANTIATE(T)                       \
  template __global__ void layer_norm<T, 512, 16>( \
      const T*, const T*, const T*, T*, float, int, int, int)
INSTANTIATE(float);
INSTANTIATE(__half);
INSTANTIATE(__nv_bfloat16);

}  // namespace cuda_kernels
