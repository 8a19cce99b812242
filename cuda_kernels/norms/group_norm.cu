// Group normalisation: y = act((x - mean) / sqrt(variance + epsilon) * weight[channel] + bias[channel]) for f32, f16 and
// bf16, in f32, with the mean and variance of each group of an image's channels. Weight and bias may each be absent
// (null). An instance norm is one whose groups are single channels.
//
// The channels of a group are adjacent: a group is a row of x. A block reads it three times, all but the first time from
// the caches: for the sum, for the squared differences to the mean, as the variance is defined, and to write it. The sum
// of the differences corrects the mean, which a long sum in f32 rounds.
//
// Memory traffic: one read and one write of each element, if rows fit into the L2 cache.

#include "../include/activations.cuh"
#include "../include/pack.cuh"
#include "../include/warp.cuh"

namespace cuda_kernels {

// The sum of a number over the block, in each of its threads. Each call needs its own shared memory.
template <int Threads>
__device__ __forceinline__ float sum_of_block(float value, float* shared) {
  value = sum_of(value, 32);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  return sum_of(shared[threadIdx.x % (Threads / 32)], Threads / 32);
}

// Calls use(position, numbers) for a thread's elements of a row, `Count` adjacent ones at a time.
template <int Threads, int Count, class T, class Use>
__device__ __forceinline__ void each_of_row(const T* row, int length, Use use) {
#pragma unroll 4
  for (int at = threadIdx.x * Count; at < length; at += Threads * Count) {
    float some[Count];
    load_some<Count>(row + at, some);
    use(at, some);
  }
}

template <int Threads, int Count, class T>
__device__ __forceinline__ void normalise(const T* x, const T* weight, const T* bias, T* y, int length, int size,
                                          float epsilon, float slope, int activation, float (&shared)[3][Threads / 32]) {
  float sum = 0.0f, differences = 0.0f, squares = 0.0f;
  each_of_row<Threads, Count>(x, length, [&](int, const float* some) {
    for (int i = 0; i < Count; ++i) sum += some[i];
  });
  const float about = sum_of_block<Threads>(sum, shared[0]) / length;
  each_of_row<Threads, Count>(x, length, [&](int, const float* some) {
    for (int i = 0; i < Count; ++i) {
      const float difference = some[i] - about;
      differences += difference;
      squares += difference * difference;
    }
  });
  differences = sum_of_block<Threads>(differences, shared[1]);
  squares = sum_of_block<Threads>(squares, shared[2]);
  const float correction = differences / length;
  const float scale = rsqrtf(fmaxf(squares - differences * correction, squares * 0.0f) / length + epsilon);
  each_of_row<Threads, Count>(x, length, [&](int at, float* some) {
    const int channel = at / size;  // `Count` elements have one channel
    const float factor = weight == nullptr ? 1.0f : static_cast<float>(weight[channel]);
    const float summand = bias == nullptr ? 0.0f : static_cast<float>(bias[channel]);
    for (int i = 0; i < Count; ++i)
      some[i] = activated<T>(activation, ((some[i] - about) - correction) * scale * factor + summand, slope);
    store_some<Count>(y + at, some);
  });
}

template <class T, int Threads>
__global__ void __launch_bounds__(Threads) group_norm(const T* __restrict__ x,
                                                      const T* __restrict__ weight,
                                                      const T* __restrict__ bias,
                                                      const unsigned char* __restrict__,
                                                      T* __restrict__ y,
                                                      int groups,
                                                      int channels,
                                                      int size,
                                                      float epsilon,
                                                      float slope,
                                                      int activation) {
  __shared__ float shared[3][Threads / 32];
  const int length = channels * size, first = blockIdx.x % groups * channels;
  x += static_cast<long long>(blockIdx.x) * length;
  y += static_cast<long long>(blockIdx.x) * length;
  if (weight != nullptr) weight += first;
  if (bias != nullptr) bias += first;
  if (aligned(x, y) && size % kPack<T> == 0) {
    normalise<Threads, kPack<T>>(x, weight, bias, y, length, size, epsilon, slope, activation, shared);
  } else {
    normalise<Threads, 1>(x, weight, bias, y, length, size, epsilon, slope, activation, shared);
  }
}

// The same for CPUs, a warp for each group. All its lanes go through each loop together: then they are a vector.
template <class T>
__global__ void __launch_bounds__(32) group_norm_cpu(const T* __restrict__ x,
                                                     const T* __restrict__ weight,
                                                     const T* __restrict__ bias,
                                                     const unsigned char* __restrict__,
                                                     T* __restrict__ y,
                                                     int groups,
                                                     int channels,
                                                     int size,
                                                     float epsilon,
                                                     float slope,
                                                     int activation) {
  const int length = channels * size, first = blockIdx.x % groups * channels, lane = threadIdx.x;
  x += static_cast<long long>(blockIdx.x) * length;
  y += static_cast<long long>(blockIdx.x) * length;
  float sum = 0.0f, differences = 0.0f, squares = 0.0f;
  for (int begin = 0; begin < length; begin += 32)
    if (begin + lane < length) sum += static_cast<float>(x[begin + lane]);
  const float about = sum_of(sum, 32) / length;
  for (int begin = 0; begin < length; begin += 32) {
    const float difference = begin + lane < length ? static_cast<float>(x[begin + lane]) - about : 0.0f;
    differences += difference;
    squares += difference * difference;
  }
  differences = sum_of(differences, 32);
  squares = sum_of(squares, 32);
  const float correction = differences / length;
  const float scale = rsqrtf(fmaxf(squares - differences * correction, squares * 0.0f) / length + epsilon);
  for (int channel = 0; channel < channels; ++channel, x += size, y += size) {
    const float factor = weight == nullptr ? 1.0f : static_cast<float>(weight[first + channel]);
    const float summand = bias == nullptr ? 0.0f : static_cast<float>(bias[first + channel]);
    for (int begin = 0; begin < size; begin += 32) {
      if (begin + lane >= size) continue;
      const float number = ((static_cast<float>(x[begin + lane]) - about) - correction) * scale * factor + summand;
      y[begin + lane] = static_cast<T>(activated<T>(activation, number, slope));
    }
  }
}

}  // namespace cuda_kernels
