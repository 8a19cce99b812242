// Root-mean-square normalisation of rows: y = x / sqrt(mean(x * x) + epsilon) * weight, for f32, f16
// and bf16, in f32. With a residual: the same of x + residual, and the sum as a second result.
//
// A group of threads holds a row in registers (include/row.cuh) between the sum of its squares and
// the write.
//
// Memory traffic: one read and one write of each element, and the weight from the caches; two reads,
// the second of the caches, of rows of more than Threads * Values elements. With a residual two reads
// and two writes, where two kernels would need three of each.

#include "include/row.cuh"

namespace cuda_kernels {

template <class T, int Threads, int Values>
__global__ void __launch_bounds__(Threads) rms_norm(const T* __restrict__ x,
                                                    const T* __restrict__ weight,
                                                    T* __restrict__ y,
                                                    float epsilon,
                                                    int rows,
                                                    int columns,
                                                    int group) {
  const Row<T, Threads, Values> row(rows, columns, group, aligned(x, weight, y));
  x += row.first;
  y += row.first;
  float values[Values];

  float squares = 0.0f;
  for (int start = 0; start < row.columns; start += row.part) {
    row.load(x, start, values);
    for (int i = 0; i < Values; ++i) squares += values[i] * values[i];
  }
  const float scale = rsqrtf(reduce<Threads>(squares, group, Sum()) / columns + epsilon);

  for (int start = 0; start < row.columns; start += row.part) {
    if (!row.is_whole()) row.load(x, start, values);
    float weights[Values];
    row.load(weight, start, weights);
    for (int i = 0; i < Values; ++i) values[i] *= scale * weights[i];
    row.store(y, start, values);
  }
}

// values = x + residual, rounded as the sum that is stored: a model that adds and normalises in two
// steps normalises what the first one stored.
template <class T, int Threads, int Values>
__device__ __forceinline__ void load_sum(const Row<T, Threads, Values>& row,
                                         const T* __restrict__ x,
                                         const T* __restrict__ residual,
                                         int start,
                                         float (&values)[Values]) {
  float others[Values];
  row.load(x, start, values);
  row.load(residual, start, others);
  for (int i = 0; i < Values; ++i)
    values[i] = static_cast<float>(static_cast<T>(values[i] + others[i]));
}

template <class T, int Threads, int Values>
__global__ void __launch_bounds__(Threads) add_rms_norm(const T* __restrict__ x,
                                                        const T* __restrict__ residual,
                                                        const T* __restrict__ weight,
                                                        T* __restrict__ sum,
                                                        T* __restrict__ y,
                                                        float epsilon,
                                                        int rows,
                                                        int columns,
                                                        int group) {
  const Row<T, Threads, Values> row(rows, columns, group, aligned(x, residual, weight, sum, y));
  x += row.first;
  residual += row.first;
  sum += row.first;
  y += row.first;
  float values[Values];

  float squares = 0.0f;
  for (int start = 0; start < row.columns; start += row.part) {
    load_sum(row, x, residual, start, values);
    row.store(sum, start, values);
    for (int i = 0; i < Values; ++i) squares += values[i] * values[i];
  }
  const float scale = rsqrtf(reduce<Threads>(squares, group, Sum()) / columns + epsilon);

  for (int start = 0; start < row.columns; start += row.part) {
    if (!row.is_whole()) load_sum(row, x, residual, start, values);
    float weights[Values];
    row.load(weight, start, weights);
    for (int i = 0; i < Values; ++i) values[i] *= scale * weights[i];
    row.store(y, start, values);
  }
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX.
#define INSTANTIATE(T)                                                                            \
  template __global__ void rms_norm<T, 512, 16>(const T*, const T*, T*, float, int, int, int);    \
  template __global__ void add_rms_norm<T, 512, 16>(const T*, const T*, const T*, T*, T*, float, \
                                                    int, int, int)
INSTANTIATE(float);
INSTANTIATE(__half);
INSTANTIATE(__nv_bfloat16);

}  // namespace cuda_kernels
