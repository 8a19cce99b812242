// Layer normalisation of rows: y = (x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias, for
// f32, f16 and bf16, in f32. Weight and bias may each be absent (null).
//
// A group of threads holds a row in registers (../include/row.cuh), so the variance is summed from
// differences to the mean, as it is defined: mean(x * x) - mean(x)^2 would lose every digit of rows
// that are far from zero. The sum of the differences corrects the mean, which a long sum in f32 rounds;
// the correction is kept as a number of its own.
//
// Memory traffic: one read and one write of each element, and weight and bias from the caches; three
// reads, two of them from the caches, of rows of more than Threads * Values elements, and of rows that are not
// made of aligned packs of 16 bytes.

#include "../include/row.cuh"

namespace cuda_kernels {

// Statistics of some of a row's elements. The mean is two numbers, because one would round it to f32: off
// by 1e-3 standard deviations where the row lies 1e4 of them from zero.
struct Moments {
  float count;
  float about;       // the mean is about this,
  float correction;  // and this to be added
  float squares;     // the sum of squared differences to the mean
};

// The statistics of two sets combined (Chan, Golub and LeVeque, 1979): no difference of large numbers.
__device__ __forceinline__ Moments combined(const Moments& a, const Moments& b) {
  if (a.count == 0.0f) return b;
  const float count = a.count + b.count;
  const float apart = b.count == 0.0f ? 0.0f : (b.about - a.about) + (b.correction - a.correction);
  const float share = __fdividef(b.count, count);
  return {count, a.about, a.correction + apart * share,
          a.squares + b.squares + apart * apart * a.count * share};
}

__device__ __forceinline__ Moments from_thread(const Moments& mine, int distance) {
  return {__shfl_xor_sync(0xffffffffu, mine.count, distance),
          __shfl_xor_sync(0xffffffffu, mine.about, distance),
          __shfl_xor_sync(0xffffffffu, mine.correction, distance),
          __shfl_xor_sync(0xffffffffu, mine.squares, distance)};
}

// The statistics of `all` elements that neighbouring threads hold, at most a warp's; this one has `count`, then
// zeros.
template <class T, int Values>
__device__ __forceinline__ Moments moments_of(Held<T, Values>& held, int count, float all, int threads) {
  constexpr int size = kPack<T>;
  float some[size];
  float sum = 0.0f;
#pragma unroll
  for (int p = 0; p < held.kPacks; ++p) {
    held.unpack(p, some);
    for (int i = 0; i < size; ++i) sum += some[i];
  }
  held.stay_packed();
  sum = sum_of(sum, threads);
  const float about = all == 0.0f ? 0.0f : sum / all;
  float differences = 0.0f, squares = 0.0f;
#pragma unroll
  for (int p = 0; p < held.kPacks; ++p) {
    held.unpack(p, some);
    for (int i = 0; i < size; ++i) {
      const float difference = p * size < count ? some[i] - about : 0.0f;
      differences += difference;
      squares += difference * difference;
    }
  }
  held.stay_packed();
  differences = sum_of(differences, threads);
  squares = sum_of(squares, threads);
  const float correction = all == 0.0f ? 0.0f : differences / all;
  return {all, about, correction, squares - differences * correction};
}

// The statistics of the elements first, first + apart, ... before `end`, which are read twice.
template <class T>
__device__ __forceinline__ Moments moments_of(const T* __restrict__ x, int first, int apart, int end) {
  const int count = end > first ? (end - first - 1) / apart + 1 : 0;
  float sum = 0.0f, differences = 0.0f, squares = 0.0f;
#pragma unroll 8
  for (int i = 0; i < count; ++i) sum += static_cast<float>(x[first + i * apart]);
  const float about = count == 0 ? 0.0f : sum / count;
#pragma unroll 8
  for (int i = 0; i < count; ++i) {
    const float difference = static_cast<float>(x[first + i * apart]) - about;
    differences += difference;
    squares += difference * difference;
  }
  const float correction = count == 0 ? 0.0f : differences / count;
  return {static_cast<float>(count), about, correction, squares - differences * correction};
}

// The statistics of `threads` neighbouring threads, a power of two up to Most, in each of them.
template <int Most>
__device__ __forceinline__ Moments combined_of(Moments moments, int threads) {
#pragma unroll
  for (int distance = Most / 2; distance > 0; distance /= 2) {
    const Moments other = from_thread(moments, distance);
    const bool is_first = (threadIdx.x & distance) == 0;
    if (distance < threads) moments = is_first ? combined(moments, other) : combined(other, moments);
  }
  return moments;
}

// Writes elements of a row.
template <class T>
struct Normalised {
  const T* weight;
  const T* bias;
  T* y;
  float about, scale, offset;

  template <int Count>
  __device__ __forceinline__ void operator()(int at, float* some, Size<Count>) const {
    // Both are loaded before either is used, without a branch.
    float factors[Count], added[Count];
    for (int i = 0; i < Count; ++i) factors[i] = 1.0f, added[i] = 0.0f;
    if (weight != nullptr) load_some<Count>(weight + at, factors);
    if (bias != nullptr) load_some<Count>(bias + at, added);
    for (int i = 0; i < Count; ++i) some[i] = ((some[i] - about) * scale + offset) * factors[i] + added[i];
    store_some<Count>(y + at, some);
  }
};

// The minimum number of blocks per multiprocessor: without it the compiler uses more registers.
template <int Threads>
constexpr int kResidentBlocks = Threads > 256 ? 1 : 768 / Threads;

template <class T, int Threads, int Values>
__global__ void __launch_bounds__(Threads, kResidentBlocks<Threads>) layer_norm(const T* __restrict__ x,
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
  Held<T, Values> held;

  // All threads of a warp go the same way, also those of groups past the last row.
  const int members = min(group, 32);
  Moments moments = {0.0f, 0.0f, 0.0f, 0.0f};
  if (row.packs) {
    for (int start = 0; start < columns; start += row.part) {
      row.load(x, start, held);
      const int count = min(row.held(start), Values);
      moments = combined(moments, moments_of(held, count, static_cast<float>(row.held_by_warp(start)), members));
    }
  } else {
    moments = combined_of<32>(moments_of(x, row.member, group, row.columns), members);
  }
  if (group > 32) {
    __shared__ Moments shared[Threads / 32];
    moments = combined_of<Threads / 32>(across_warps(moments, group, shared), group / 32);
  }
  const float scale = rsqrtf(moments.squares / columns + epsilon);
  const Normalised<T> write = {weight, bias, y, moments.about, scale, -moments.correction * scale};

  if (row.packs) {
    for (int start = 0; start < row.columns; start += row.part) {
      if (!row.is_whole()) row.load(x, start, held);
      row.each(start, held, write);
    }
  } else {
#pragma unroll 4
    for (int i = row.member; i < row.columns; i += group) {
      float value = static_cast<float>(x[i]);
      write(i, &value, Size<1>());
    }
  }
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX; NVRTC is told which are wanted.
#ifndef __CUDACC_RTC__
#define INSTANTIATE(T, THREADS, VALUES)                  \
  template __global__ void layer_norm<T, THREADS, VALUES>( \
      const T*, const T*, const T*, T*, float, int, int, int)
INSTANTIATE(float, 256, 32);
INSTANTIATE(__half, 128, 64);
INSTANTIATE(__nv_bfloat16, 128, 64);
#endif

}  // namespace cuda_kernels
