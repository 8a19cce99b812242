// Mean and variance of rows that are held in registers: #include "../include/moments.cuh".
//
// A thread sums the differences of its numbers to the first of them, and their squares: mean(x * x) - mean(x)^2 would lose
// every digit of rows that are far from zero. A thread's first number is at most as far from its mean as the root of their count
// times their standard deviation, so that this loses no more digits than that sum does. What threads, warps and
// blocks found is merged by their means, in one exchange. The mean is kept as two numbers, because one would be off by 1e-3
// standard deviations where a row lies 1e4 of them from zero.
#pragma once

#include "row.cuh"

namespace cuda_kernels {

struct SumLanes {
  __device__ __forceinline__ float operator()(float value, int count) const { return sum_of(value, count); }
};

// How many numbers there are, their mean, from some number on, and the sum of the squares of their differences to it.
struct Moments {
  float count, mean, squares;
};

struct MergeMoments {
  __device__ __forceinline__ Moments operator()(const Moments& one, int lanes) const {
    Moments all;
    float sum = one.count * one.mean;
    all.count = one.count;
    sum_both(all.count, sum, lanes);
    all.mean = __fdividef(sum, fmaxf(all.count, 1.0f));
    const float apart = one.mean - all.mean;
    all.squares = sum_of(one.squares + one.count * apart * apart, lanes);
    return all;
  }
};

// Sums of the differences to `about`, one of the numbers.
struct Differences {
  float about, count = 0.0f, sum = 0.0f, squares = 0.0f;

  __device__ __forceinline__ void add(const float* some, int numbers) {
    for (int i = 0; i < numbers; ++i) {
      const float difference = some[i] - about;
      sum += difference;
      squares += difference * difference;
    }
    count += numbers;
  }

  // The mean counts from `base` on.
  __device__ __forceinline__ Moments moments(float base) const {
    const float mean = __fdividef(sum, fmaxf(count, 1.0f));
    return {count, (about - base) + mean, isinf(squares) ? squares : squares - sum * mean};
  }
};

// y = ((x - about) - correction) * scale is normalised.
struct Normalised {
  float about, correction, scale;

  // Of all numbers, whose mean counts from `base` on.
  __device__ __forceinline__ Normalised(float base, const Moments& all, float epsilon) : about(base + all.mean) {
    correction = all.mean - (about - base);
    const float squares = fmaxf(all.squares, all.squares * 0.0f);  // NaN where a number is
    scale = rsqrtf(__fdividef(squares, all.count) + epsilon);
  }

  // 16-bit numbers need no correction.
  template <class T>
  __device__ __forceinline__ float of(float x) const {
    return sizeof(T) == 2 ? (x - about) * scale : ((x - about) - correction) * scale;
  }
};

// Of a row of x. `held` has the row's first part before, and its last one after.
template <class Rows, class T>
__device__ __forceinline__ Normalised normalised(
    const Rows& row, const T* __restrict__ x, typename Rows::Part& held, float epsilon) {
  float some[Rows::kUnit];
  Rows::Part::unpack_unit(held.units[0], some);
  Differences differences;
  differences.about = row.member < row.units ? some[0] : row.has_edge(0) ? static_cast<float>(held.edge) : 0.0f;
  const float base = sizeof(T) == 4 && row.columns > 0 ? static_cast<float>(*x) : 0.0f;
  int start = 0;
  do {
    if (start > 0) row.load(x, start, held);
    row.each(start, held, [&](int, const float* some, int count, int) { differences.add(some, count); });
    held.stay_packed();
    start += row.part();
  } while (start < row.units);
  return Normalised(base, row.of_group(differences.moments(base), MergeMoments()), epsilon);
}

}  // namespace cuda_kernels
