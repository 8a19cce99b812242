// Mean and variance of rows that are held in registers: #include "../include/moments.cuh".
//
// The variance is summed from differences to the mean, as it is defined: mean(x * x) - mean(x)^2 would lose every digit of
// rows that are far from zero. The sum of the differences corrects the mean, which a long sum in f32 rounds; the
// correction is kept as a number of its own, because one number would be off by 1e-3 standard deviations where a row lies
// 1e4 of them from zero.
#pragma once

#include "row.cuh"

namespace cuda_kernels {

// Of differences to a number, `about`. Of 16-bit numbers only the squares are wanted: their sums need no correction.
template <bool Corrects>
struct Differences {
  float sum = 0.0f, squares = 0.0f;

  __device__ __forceinline__ void add(const float* some, float about, int count) {
    for (int i = 0; i < count; ++i) {
      const float difference = some[i] - about;
      if constexpr (Corrects) sum += difference;
      squares += difference * difference;
    }
  }
};

struct SumLanes {
  __device__ __forceinline__ float operator()(float value, int count) const { return sum_of(value, count); }
  template <bool Corrects>
  __device__ __forceinline__ Differences<Corrects> operator()(const Differences<Corrects>& value, int count) const {
    Differences<Corrects> all;
    if constexpr (Corrects) all.sum = sum_of(value.sum, count);
    all.squares = sum_of(value.squares, count);
    return all;
  }
};

// y = ((x - about) - correction) * scale is normalised; offset is -correction * scale.
struct Normalised {
  float about, scale, offset;

  // From all differences of `count` numbers.
  template <bool Corrects>
  __device__ __forceinline__ Normalised(float mean, const Differences<Corrects>& of, int count, float epsilon) : about(mean) {
    const float correction = of.sum / count;
    const float squares = fmaxf(of.squares - of.sum * correction, of.squares * 0.0f);  // NaN where a number is
    scale = rsqrtf(squares / count + epsilon);
    offset = -correction * scale;
  }

  __device__ __forceinline__ float operator()(float x) const { return (x - about) * scale + offset; }
};

// Of a row of x. `held` has the row's first part before, and its last one after.
template <class Rows, class T>
__device__ __forceinline__ Normalised normalised(
    const Rows& row, const T* __restrict__ x, typename Rows::Part& held, int columns, float epsilon) {
  float sum = 0.0f;
  int start = 0;
  do {
    if (start > 0) row.load(x, start, held);
    row.each(start, held, [&](int, const float* some, int count, int) {
      for (int i = 0; i < count; ++i) sum += some[i];
    });
    held.stay_packed();
    start += row.part();
  } while (start < row.packs);
  const float about = row.template of_group<0>(sum, SumLanes()) / columns;

  Differences<sizeof(T) == 4> differences;
  start = 0;
  do {
    if (!row.is_whole()) row.load(x, start, held);
    row.each(start, held, [&](int, const float* some, int count, int) { differences.add(some, about, count); });
    held.stay_packed();
    start += row.part();
  } while (start < row.packs);
  return Normalised(about, row.template of_group<1>(differences, SumLanes()), columns, epsilon);
}

}  // namespace cuda_kernels
