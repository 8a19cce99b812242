// Root-mean-square normalisation of rows: y = x / sqrt(mean(x * x) + epsilon) * weight, for f32, f16
// and bf16, in f32. With a residual: the same of x + residual, and the sum as a second result. The
// `..._from` kernels multiply by offset + weight instead, where the weight may be absent (null): models
// that store how far their weights are from 1 would round the sum of both to 16 bits.
//
// A group of threads holds a row in registers (../include/row.cuh) between the sum of its squares and
// the write.
//
// Memory traffic: one read and one write of each element, and the weight from the caches; two reads,
// the second of the caches, of rows of more than Threads * Values elements. With a residual two reads
// and two writes, where two kernels would need three of each.
//
// For few rows, as in a decoding step, the time is the latency of dependent loads, and of fetching code that runs once. So
// the `..._few` kernels have one row a block, as many threads as a long row has packs for, and issue all loads at once,
// those of the weight too, before the reduction.

#include "../include/moments.cuh"

namespace cuda_kernels {

// Rows of x, or, with a residual, of x + residual, which is a result, too: then the sum is rounded as it is stored,
// because a model that adds and normalises in two steps normalises what the first one stored. Weights are `offset` and
// what `weight` adds, if an offset is there.
template <int Early, bool Adds, bool From, class Rows, class T>
__device__ __forceinline__ void rms_norm_of_row(const Rows& row,
                                                const T* __restrict__ x,
                                                 const T* __restrict__ residual,
                                                 const T* __restrict__ weight,
                                                 T* __restrict__ sum,
                                                 T* __restrict__ y,
                                                 float epsilon,
                                                 float offset,
                                                 int columns) {
  x += row.first;
  y += row.first;
  if constexpr (Adds) {
    residual += row.first;
    sum += row.first;
  }
  typename Rows::Part held;
  const auto load = [&](int start) {
    row.load(x, start, held);
    if constexpr (Adds) row.add(residual, start, held);
  };
  const int part = row.part();
  load(0);
  ColumnOperand<T, Early, Rows> weights(row, weight, 0.0f);

  float squares = 0.0f;
  int start = 0;
  do {
    if (start > 0) load(start);
    row.each(start, held, [&](int at, const float* some, int count, int) {
      for (int i = 0; i < count; ++i) squares += some[i] * some[i];
      if constexpr (Adds) row.write(sum, at, some, count);
    });
    held.stay_packed();
    start += part;
  } while (start < row.units);
  const float scale = rsqrtf(row.of_group(squares, SumLanes()) / columns + epsilon);

  start = 0;
  do {
    if (!row.is_whole()) load(start);
    const auto write = [&](int at, float* some, int count, int u) {
      float factors[Rows::kUnit];
      weights.values_of(u, factors);
      for (int i = 0; i < count; ++i) some[i] *= scale * (From ? offset + factors[i] : factors[i]);
      row.put(y, at, some, count);
    };
    row.each(start, held, write, weights);
    start += part;
  } while (start < row.units);
  row.leave();
}

template <class T, int Early, bool Adds, bool From>
struct RmsNormOfRow {
  const T *x, *residual, *weight;
  T *sum, *y;
  float epsilon, offset;
  int columns;

  template <class Rows>
  __device__ __forceinline__ void operator()(const Rows& row) const {
    rms_norm_of_row<Early, Adds, From>(row, x, residual, weight, sum, y, epsilon, offset, columns);
  }
};

#define OPERANDS(T) const T *__restrict__ x, const T *__restrict__ weight, T *__restrict__ y, float epsilon
#define ADD_OPERANDS(T)                                                                                      \
  const T *__restrict__ x, const T *__restrict__ residual, const T *__restrict__ weight, T *__restrict__ sum, \
      T *__restrict__ y, float epsilon
#define FROM_OPERANDS(T) OPERANDS(T), float offset
#define ADD_FROM_OPERANDS(T) ADD_OPERANDS(T), float offset

// One of blocks, and one of rows that the blocks of a cluster share.
#define RMS_NORM(NAME, PARAMETERS, ADDS, FROM, RESIDUAL, SUM, OFFSET)                                                \
  template <class T, int Threads, int Values, int Early>                                                            \
  __global__ void __launch_bounds__(Threads, kResident<Threads, ADDS ? 768 : 1024>)                                 \
      NAME(PARAMETERS, int rows, int columns, int group) {                                                          \
    with_row<T, Threads, Values, 1>(                                                                                \
        aligned(x, RESIDUAL, weight, SUM, y), are_in_step(x, y) && (!ADDS || are_in_step(RESIDUAL, y)), rows,       \
        columns, group, y,                                                                                          \
        RmsNormOfRow<T, Early, ADDS, FROM>{x, RESIDUAL, weight, SUM, y, epsilon, OFFSET, columns});                 \
  }                                                                                                                 \
  template <class T, int Threads, int Values, int Early, int Blocks>                                                \
  __global__ void __launch_bounds__(Threads, kResident<Threads, ADDS ? 512 : 768>) CUDA_KERNELS_CLUSTER(Blocks)       \
      NAME##_wide(PARAMETERS, int rows, int columns, int group) {                                                   \
    with_row<T, Threads, Values, Blocks>(                                                                           \
        aligned(x, RESIDUAL, weight, SUM, y), are_in_step(x, y) && (!ADDS || are_in_step(RESIDUAL, y)), rows,       \
        columns, group, y,                                                                                          \
        RmsNormOfRow<T, Early, ADDS, FROM>{x, RESIDUAL, weight, SUM, y, epsilon, OFFSET, columns});                 \
  }
#define NONE static_cast<T*>(nullptr)
RMS_NORM(rms_norm, OPERANDS(T), false, false, NONE, NONE, 0.0f)
RMS_NORM(rms_norm_from, FROM_OPERANDS(T), false, true, NONE, NONE, offset)
RMS_NORM(add_rms_norm, ADD_OPERANDS(T), true, false, residual, sum, 0.0f)
RMS_NORM(add_rms_norm_from, ADD_FROM_OPERANDS(T), true, true, residual, sum, offset)

}  // namespace cuda_kernels
