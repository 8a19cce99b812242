// Group normalisation of channels-last images [images, size, channels], and an activation: as norms/group_norm.cu, for f32,
// f16 and bf16, in f32. Weight and bias may be absent (null).
//
// A block normalises a group of an image: `size` rows of adjacent channels, which it reads three times, all but the first
// time from the caches. Threads go through the group's numbers in order, so that a warp reads whole rows.
//
// Memory traffic: one read and one write of each element, if groups fit into the L2 cache.

#include "../include/activations.cuh"
#include "../include/warp.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cuda_kernels {

// The sum of a number over the block, in each of its threads. Each call needs its own shared memory.
template <int Threads>
__device__ __forceinline__ float sum_of_block(float value, float* shared) {
  value = sum_of(value, 32);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  return sum_of(shared[threadIdx.x % (Threads / 32)], Threads / 32);
}

// `Count` adjacent elements, from an address that is aligned for all of them.
template <class T, int Count>
struct alignas(Count * sizeof(T)) Few {
  T elements[Count];
};

// Calls `use` with each row and first channel that are a thread's: it has some channels, and every `apart`-th row.
template <int Threads, int Count, class Use>
__device__ __forceinline__ void for_each(int units, int rows, Use use) {
  if (units <= Threads) {
    const int apart = Threads / units, channel = threadIdx.x % units * Count;
    if (static_cast<int>(threadIdx.x) >= apart * units) return;
#pragma unroll 4
    for (int row = threadIdx.x / units; row < rows; row += apart) use(row, channel);
  } else {
    for (int row = 0; row < rows; ++row)
      for (int unit = threadIdx.x; unit < units; unit += Threads) use(row, unit * Count);
  }
}

template <int Threads, int Count, class T>
__device__ __forceinline__ void normalise(const T* x, const T* weight, const T* bias, T* y, int apart, int of_group,
                                          int size, float epsilon, float slope, int activation,
                                          float (&shared)[3][Threads / 32]) {
  const int units = of_group / Count, length = of_group * size;
  const auto load = [&](int row, int channel) {
    return *reinterpret_cast<const Few<T, Count>*>(x + static_cast<long long>(row) * apart + channel);
  };
  float sum = 0.0f, differences = 0.0f, squares = 0.0f;
  for_each<Threads, Count>(units, size, [&](int row, int channel) {
    const auto few = load(row, channel);
    for (int i = 0; i < Count; ++i) sum += static_cast<float>(few.elements[i]);
  });
  const float about = sum_of_block<Threads>(sum, shared[0]) / length;
  for_each<Threads, Count>(units, size, [&](int row, int channel) {
    const auto few = load(row, channel);
    for (int i = 0; i < Count; ++i) {
      const float difference = static_cast<float>(few.elements[i]) - about;
      differences += difference;
      squares += difference * difference;
    }
  });
  differences = sum_of_block<Threads>(differences, shared[1]);
  squares = sum_of_block<Threads>(squares, shared[2]);
  const float correction = differences / length;
  const float scale = rsqrtf(fmaxf(squares - differences * correction, squares * 0.0f) / length + epsilon);
  for_each<Threads, Count>(units, size, [&](int row, int channel) {
    auto few = load(row, channel);
    for (int i = 0; i < Count; ++i) {
      const float factor = weight == nullptr ? 1.0f : static_cast<float>(weight[channel + i]);
      const float summand = bias == nullptr ? 0.0f : static_cast<float>(bias[channel + i]);
      const float number = static_cast<float>(few.elements[i]);
      few.elements[i] = static_cast<T>(
          activated<T>(activation, ((number - about) - correction) * scale * factor + summand, slope));
    }
    *reinterpret_cast<Few<T, Count>*>(y + static_cast<long long>(row) * apart + channel) = few;
  });
}

template <class T, int Threads>
__global__ void __launch_bounds__(Threads) group_norm_last(const T* __restrict__ x,
                                                           const T* __restrict__ weight,
                                                           const T* __restrict__ bias,
                                                           const unsigned char* __restrict__,
                                                           T* __restrict__ y,
                                                           int groups,
                                                           int of_group,
                                                           int size,
                                                           float epsilon,
                                                           float slope,
                                                           int activation) {
  __shared__ float shared[3][Threads / 32];
  const int image = blockIdx.x / groups, first = (blockIdx.x - image * groups) * of_group, apart = groups * of_group;
  const long long start = static_cast<long long>(image) * size * apart + first;
  x += start;
  y += start;
  if (weight != nullptr) weight += first;
  if (bias != nullptr) bias += first;
  const auto addresses = reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(y) |
                         of_group * sizeof(T);
  if (addresses % (2 * sizeof(T)) == 0) {
    normalise<Threads, 2>(x, weight, bias, y, apart, of_group, size, epsilon, slope, activation, shared);
  } else {
    normalise<Threads, 1>(x, weight, bias, y, apart, of_group, size, epsilon, slope, activation, shared);
  }
}

}  // namespace cuda_kernels
