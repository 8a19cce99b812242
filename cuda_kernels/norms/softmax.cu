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

// That of up to 32 adjacent threads.
struct ReduceParts {
  __device__ __forceinline__ Part operator()(const Part& part, int count) const {
    Part all = {maximum_of(part.maximum, count), 0.0f};
    all.sum = sum_of(part.sum * exponential(part.maximum - shift(all.maximum)), count);
    return all;
  }
};

template <class Rows, class T>
__device__ __forceinline__ void softmax_of_row(const Rows& row, const T* __restrict__ x, T* __restrict__ y) {
  x += row.first;
  y += row.first;
  typename Rows::Part held;

  Part part = {-INFINITY, 0.0f};
  int start = 0;
  do {
    row.load(x, start, held);
    const float before = part.maximum;
    row.each(start, held, [&](int, const float* some, int count, int) {
      for (int i = 0; i < count; ++i) part.maximum = fmaxf(part.maximum, some[i]);
    });
    held.stay_packed();
    const float base = shift(part.maximum);
    part.sum *= exponential(before - base);
    row.each(start, held, [&](int, const float* some, int count, int) {
      for (int i = 0; i < count; ++i) part.sum += exponential(some[i] - base);
    });
    held.stay_packed();
    start += row.part();
  } while (start < row.units);

  part = row.of_group(part, ReduceParts());
  const float scale = 1.0f / part.sum, base = shift(part.maximum);
  start = 0;
  do {
    if (!row.is_whole()) row.load(x, start, held);
    row.each(start, held, [&](int at, float* some, int count, int) {
      for (int i = 0; i < count; ++i) some[i] = exponential(some[i] - base) * scale;
      row.put(y, at, some, count);
    });
    start += row.part();
  } while (start < row.units);
  row.leave();
}

template <class T>
struct SoftmaxOfRow {
  const T* x;
  T* y;

  template <class Rows>
  __device__ __forceinline__ void operator()(const Rows& row) const {
    softmax_of_row(row, x, y);
  }
};

template <class T, int Threads, int Values>
__global__ void __launch_bounds__(Threads, kResident<Threads, 1280>)
    softmax(const T* __restrict__ x, T* __restrict__ y, int rows, int columns, int group) {
  with_row<T, Threads, Values, 1>(aligned(x, y), are_in_step(x, y), rows, columns, group, y, SoftmaxOfRow<T>{x, y});
}

// Rows that the blocks of a cluster share.
template <class T, int Threads, int Values, int Blocks>
__global__ void __launch_bounds__(Threads, kResident<Threads, 768>) CUDA_KERNELS_CLUSTER(Blocks)
    softmax_wide(const T* __restrict__ x, T* __restrict__ y, int rows, int columns, int group) {
  with_row<T, Threads, Values, Blocks>(aligned(x, y), are_in_step(x, y), rows, columns, group, y, SoftmaxOfRow<T>{x, y});
}

}  // namespace cuda_kernels
