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

#include "../include/row.cuh"

namespace cuda_kernels {

// Writes elements of a row.
template <class T>
struct Scaled {
  const T* weight;
  T* y;
  float scale;

  template <int Count>
  __device__ __forceinline__ void operator()(int at, float* some, Size<Count>) const {
    float weights[Count];
    load_some<Count>(weight + at, weights);
    for (int i = 0; i < Count; ++i) some[i] *= scale * weights[i];
    store_some<Count>(y + at, some);
  }
};

// The same with weights from an offset.
template <class T>
struct ScaledFrom {
  const T* weight;
  T* y;
  float scale;
  float offset;

  template <int Count>
  __device__ __forceinline__ void operator()(int at, float* some, Size<Count>) const {
    float weights[Count] = {};
    if (weight != nullptr) load_some<Count>(weight + at, weights);
    for (int i = 0; i < Count; ++i) some[i] *= scale * (offset + weights[i]);
    store_some<Count>(y + at, some);
  }
};

// Some rows, each of which a group of threads holds. `writes(first, scale)` gives what writes elements of the row
// that begins with the element `first`.
template <class T, int Threads, int Values, class Writes>
__device__ __forceinline__ void norm_of_rows(
    const T* __restrict__ x, int rows, int columns, int group, bool is_aligned, float epsilon, Writes writes) {
  const Row<T, Threads, Values> row(rows, columns, group, is_aligned);
  x += row.first;
  float values[Values];

  float squares = 0.0f;
  for (int start = 0; start < row.columns; start += row.part) {
    row.load(x, start, values);
    for (int i = 0; i < Values; ++i) squares += values[i] * values[i];
  }
  const auto write = writes(row.first, rsqrtf(sum_of_group<Threads>(squares, group) / columns + epsilon));

  for (int start = 0; start < row.columns; start += row.part) {
    if (!row.is_whole()) row.load(x, start, values);
    row.each(start, values, write);
  }
}

template <class T, int Threads, int Values>
__global__ void __launch_bounds__(Threads, kResident<T, Threads, Values>) rms_norm(const T* __restrict__ x,
                                                    const T* __restrict__ weight,
                                                    T* __restrict__ y,
                                                    float epsilon,
                                                    int rows,
                                                    int columns,
                                                    int group) {
  norm_of_rows<T, Threads, Values>(x, rows, columns, group, aligned(x, weight, y), epsilon,
                                   [&](long long first, float scale) { return Scaled<T>{weight, y + first, scale}; });
}

template <class T, int Threads, int Values>
__global__ void __launch_bounds__(Threads, kResident<T, Threads, Values>) rms_norm_from(const T* __restrict__ x,
                                                         const T* __restrict__ weight,
                                                         T* __restrict__ y,
                                                         float epsilon,
                                                         float offset,
                                                         int rows,
                                                         int columns,
                                                         int group) {
  norm_of_rows<T, Threads, Values>(
      x, rows, columns, group, aligned(x, weight, y), epsilon,
      [&](long long first, float scale) { return ScaledFrom<T>{weight, y + first, scale, offset}; });
}

// The sum of two packs, rounded as it is stored: a model that adds and normalises in two steps normalises what
// the first one stored. Adds to the sum of squares.
template <class T>
__device__ __forceinline__ uint4 sum_of_packs(uint4 a, uint4 b, float& squares) {
  float some[kPack<T>], more[kPack<T>];
  unpack<T>(a, some);
  unpack<T>(b, more);
  for (int i = 0; i < kPack<T>; ++i) some[i] += more[i];
  const uint4 sum = packed<T>(some);
  unpack<T>(sum, some);
  for (int i = 0; i < kPack<T>; ++i) squares += some[i] * some[i];
  return sum;
}

template <class T, int Threads, int Values>
__global__ void __launch_bounds__(Threads, Threads <= 256 ? 512 / Threads : 1) add_rms_norm(const T* __restrict__ x,
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
  const auto load = [&](int start, Held<T, Values>& held) {
    Held<T, Values> others;
    float squares = 0.0f;
    row.load(x, start, held);
    row.load(residual, start, others);
#pragma unroll
    for (int p = 0; p < held.kPacks; ++p) held.bits[p] = sum_of_packs<T>(held.bits[p], others.bits[p], squares);
    return squares;
  };
  const auto load_element = [&](int at) {
    return static_cast<float>(static_cast<T>(static_cast<float>(x[at]) + static_cast<float>(residual[at])));
  };

  Held<T, Values> held;
  float squares = 0.0f;
  if (row.packs) {
    for (int start = 0; start < row.columns; start += row.part) {
      squares += load(start, held);
      row.each(start, held, Store<T>{sum});
      held.stay_packed();
    }
  } else {
    row.template each_element<16>(load_element, [&](int at, float value) {
      sum[at] = static_cast<T>(value);
      squares += value * value;
    });
  }
  const float scale = rsqrtf(sum_of_group<Threads>(squares, group) / columns + epsilon);

  const Scaled<T> write = {weight, y, scale};
  if (row.packs) {
    for (int start = 0; start < row.columns; start += row.part) {
      if (!row.is_whole()) load(start, held);
      row.each(start, held, write);
    }
  } else {
    row.template each_element<16>(load_element,
                                  [&](int at, float value) { write(at, &value, Size<1>()); });
  }
}

// One row, which a block holds whole. With a residual the sum is a result, too; without, both pointers are null.
template <bool Adds, class T, int Threads, int Values>
__device__ __forceinline__ void norm_of_row(const T* __restrict__ x,
                                            const T* __restrict__ residual,
                                            const T* __restrict__ weight,
                                            T* __restrict__ sum,
                                            T* __restrict__ y,
                                            float epsilon,
                                            int columns) {
  const Row<T, Threads, Values> row(gridDim.x, columns, Threads, aligned(x, residual, weight, sum, y));
  x += row.first;
  y += row.first;
  if constexpr (Adds) {
    residual += row.first;
    sum += row.first;
  }
  const auto load_element = [&](int at) {
    const float value = static_cast<float>(x[at]);
    if constexpr (Adds) return static_cast<float>(static_cast<T>(value + static_cast<float>(residual[at])));
    return value;
  };

  Held<T, Values> held, weights;
  float squares = 0.0f;
  if (row.packs) {
    row.load(x, 0, held);
    Held<T, Values> others;
    if constexpr (Adds) row.load(residual, 0, others);
    row.load(weight, 0, weights);
#pragma unroll
    for (int p = 0; p < held.kPacks; ++p) {
      if constexpr (Adds) {
        held.bits[p] = sum_of_packs<T>(held.bits[p], others.bits[p], squares);
      } else {
        float some[kPack<T>];
        held.unpack(p, some);
        for (int i = 0; i < kPack<T>; ++i) squares += some[i] * some[i];
      }
    }
    if constexpr (Adds) row.store(sum, 0, held);
  } else {
    row.template each_element<4>(load_element, [&](int at, float value) {
      if constexpr (Adds) sum[at] = static_cast<T>(value);
      squares += value * value;
    });
  }
  const float scale = rsqrtf(sum_of_group<Threads>(squares, Threads) / columns + epsilon);

  if (row.packs) {
#pragma unroll
    for (int p = 0; p < held.kPacks; ++p) {
      float some[kPack<T>], by[kPack<T>];
      held.unpack(p, some);
      weights.unpack(p, by);
      for (int i = 0; i < kPack<T>; ++i) some[i] *= scale * by[i];
      held.bits[p] = packed<T>(some);
    }
    row.store(y, 0, held);
  } else {
    const Scaled<T> write = {weight, y, scale};
    row.template each_element<4>(load_element, [&](int at, float value) { write(at, &value, Size<1>()); });
  }
}

template <class T, int Threads, int Values>
__global__ void __launch_bounds__(Threads) rms_norm_few(const T* __restrict__ x,
                                                        const T* __restrict__ weight,
                                                        T* __restrict__ y,
                                                        float epsilon,
                                                        int columns) {
  constexpr T* none = nullptr;
  norm_of_row<false, T, Threads, Values>(x, none, weight, none, y, epsilon, columns);
}

template <class T, int Threads, int Values>
__global__ void __launch_bounds__(Threads) add_rms_norm_few(const T* __restrict__ x,
                                                            const T* __restrict__ residual,
                                                            const T* __restrict__ weight,
                                                            T* __restrict__ sum,
                                                            T* __restrict__ y,
                                                            float epsilon,
                                                            int columns) {
  norm_of_row<true, T, Threads, Values>(x, residual, weight, sum, y, epsilon, columns);
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX; NVRTC is told which are wanted.
#ifndef __CUDACC_RTC__
#define INSTANTIATE(T, THREADS, VALUES)                                                            \
  template __global__ void rms_norm<T, THREADS, VALUES>(const T*, const T*, T*, float, int, int,   \
                                                        int);                                      \
  template __global__ void rms_norm_from<T, THREADS, VALUES>(const T*, const T*, T*, float, float, \
                                                             int, int, int);                       \
  template __global__ void add_rms_norm<T, 256, 32>(const T*, const T*, const T*, T*, T*, float,   \
                                                    int, int, int)
INSTANTIATE(float, 256, 32);
INSTANTIATE(__half, 128, 64);
INSTANTIATE(__nv_bfloat16, 128, 64);
#define INSTANTIATE_FEW(T)                                                                                  \
  template __global__ void rms_norm_few<T, 256, 32>(const T*, const T*, T*, float, int);                     \
  template __global__ void add_rms_norm_few<T, 256, 32>(const T*, const T*, const T*, T*, T*, float, int)
INSTANTIATE_FEW(__half);
INSTANTIATE_FEW(__nv_bfloat16);
#endif

}  // namespace cuda_kernels
