// Layer normalisation of rows: y = (x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias, for
// f32, f16 and bf16, in f32. Weight and bias may each be absent (null).
//
// A group of threads holds a row in registers (../include/row.cuh) between its moments (../include/moments.cuh) and the write.
//
// Memory traffic: one read and one write of each element, and weight and bias from the caches; two
// reads, the second of the caches, of rows of more than Threads * Values elements.

#include "../include/moments.cuh"

namespace cuda_kernels {

template <int Early, class Rows, class T>
__device__ __forceinline__ void layer_norm_of_row(const Rows& row,
                                                  const T* __restrict__ x,
                                                  const T* __restrict__ weight,
                                                  const T* __restrict__ bias,
                                                  T* __restrict__ y,
                                                  float epsilon) {
  x += row.first;
  y += row.first;
  typename Rows::Part held;
  row.load(x, 0, held);
  ColumnOperand<T, Early, Rows> weights(row, weight, 1.0f), biases(row, bias, 0.0f);
  const Normalised normal = normalised(row, x, held, epsilon);
  int start = 0;
  do {
    if (!row.is_whole()) row.load(x, start, held);
    const auto write = [&](int at, float* some, int count, int u) {
      float factors[Rows::kUnit], added[Rows::kUnit];
      weights.values_of(u, factors);
      biases.values_of(u, added);
      for (int i = 0; i < count; ++i) some[i] = normal.template of<T>(some[i]) * factors[i] + added[i];
      row.put(y, at, some, count);
    };
    row.each(start, held, write, weights, biases);
    start += row.part();
  } while (start < row.units);
  row.leave();
}

template <class T, int Early>
struct LayerNormOfRow {
  const T *x, *weight, *bias;
  T* y;
  float epsilon;

  template <class Rows>
  __device__ __forceinline__ void operator()(const Rows& row) const {
    layer_norm_of_row<Early>(row, x, weight, bias, y, epsilon);
  }
};

#define LAYER_NORM_OPERANDS(T)                                                                               \
  const T *__restrict__ x, const T *__restrict__ weight, const T *__restrict__ bias, T *__restrict__ y,      \
      float epsilon, int rows, int columns, int group

template <class T, int Threads, int Values, int Early>
__global__ void __launch_bounds__(Threads, kResident<Threads, 1024>) layer_norm(LAYER_NORM_OPERANDS(T)) {
  with_row<T, Threads, Values, 1>(aligned(x, weight, bias, y), are_in_step(x, y), rows, columns, group, y,
                                  LayerNormOfRow<T, Early>{x, weight, bias, y, epsilon});
}

// Rows that the blocks of a cluster share.
template <class T, int Threads, int Values, int Early, int Blocks>
__global__ void __launch_bounds__(Threads, kResident<Threads, 768>) CUDA_KERNELS_CLUSTER(Blocks)
    layer_norm_wide(LAYER_NORM_OPERANDS(T)) {
  with_row<T, Threads, Values, Blocks>(aligned(x, weight, bias, y), are_in_step(x, y), rows, columns, group, y,
                                  LayerNormOfRow<T, Early>{x, weight, bias, y, epsilon});
}

}  // namespace cuda_kernels
