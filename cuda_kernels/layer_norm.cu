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

// What some of a row's elements come to. Their mean is two numbers, since one would round it to f32: off
// by 1e-3 standard deviations where the row lies 1e4 of them from zero.
struct Moments {
  float count;
  float about;       // the mean is about this,
  float correction;  // and this to be added
  float squares;     // the sum of squared differences to the mean
};

// Those of two sets of elements as one (Chan, Golub and LeVeque, 1979): no difference of large numbers.
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

// Those of what neighbouring threads hold, at most a warp's; each has `held` elements, and zeros after.
template <int Values>
__device__ __forceinline__ Moments moments_of(const float (&values)[Values], int held, int threads) {
  float sum = 0.0f;
  for (int i = 0; i < Values; ++i) sum += values[i];
  const float count = sum_of(static_cast<float>(held), threads);
  sum = sum_of(sum, threads);
  const float about = count == 0.0f ? 0.0f : sum / count;
  float differences = 0.0f, squares = 0.0f;
  for (int i = 0; i < Values; ++i) {
    const float difference = i < held ? values[i] - about : 0.0f;
    differences += difference;
    squares += difference * difference;
  }
  differences = sum_of(differences, threads);
  squares = sum_of(squares, threads);
  const float correction = count == 0.0f ? 0.0f : differences / count;
  return {count, about, correction, squares - differences * correction};
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
    for (int i = 0; i < Count; ++i) some[i] = (some[i] - about) * scale + offset;
    float others[Count];
    if (weight != nullptr) {
      load_some<Count>(weight + at, others);
      for (int i = 0; i < Count; ++i) some[i] *= others[i];
    }
    if (bias != nullptr) {
      load_some<Count>(bias + at, others);
      for (int i = 0; i < Count; ++i) some[i] += others[i];
    }
    store_some<Count>(y + at, some);
  }
};

template <class T, int Threads, int Values>
__global__ void __launch_bounds__(Threads, kResident<T, Threads, Values>) layer_norm(const T* __restrict__ x,
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

  // All threads of a warp go the same way, also those of groups past the last row.
  const int members = min(group, 32);
  Moments moments = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int start = 0; start < columns; start += row.part) {
    row.load(x, start, values);
    moments = combined(moments, moments_of(values, min(row.held(start), Values), members));
  }
  if (group > 32) {
    __shared__ Moments shared[Threads / 32];
    moments = across_warps(moments, group, shared);
#pragma unroll
    for (int distance = Threads / 64; distance > 0; distance /= 2) {
      const Moments other = from_thread(moments, distance);
      const bool is_first = (threadIdx.x & distance) == 0;
      if (distance < group / 32)
        moments = is_first ? combined(moments, other) : combined(other, moments);
    }
  }
  const float scale = rsqrtf(moments.squares / columns + epsilon);
  const Normalised<T> write = {weight, bias, y, moments.about, scale, -moments.correction * scale};

  for (int start = 0; start < row.columns; start += row.part) {
    if (!row.is_whole()) row.load(x, start, values);
    row.each(start, values, write);
  }
}

// Instantiated here, so that CMake and nvcc by themselves put them into the PTX.
#define INSTANTIATE(T)                       \
  template __global__ void layer_norm<T, 128, 32>( \
      const T*, const T*, const T*, T*, float, int, int, int)
INSTANTIATE(float);
INSTANTIATE(__half);
INSTANTIATE(__nv_bfloat16);

}  // namespace cuda_kernels
