// Group normalisation of channels-last images [images, size, channels], and an activation: as norms/group_norm.cu, for f32,
// f16 and bf16, in f32. Weight and bias may be absent (null).
//
// A block, or a cluster of them, normalises a group of an image: `size` rows of adjacent channels. It reads them twice,
// the second time from the caches. Threads go through the group's numbers in order, so that a warp reads whole rows.
//
// Memory traffic: one read and one write of each element, if groups fit into the L2 cache.

#include "../include/activations.cuh"
#include "../include/moments.cuh"

namespace cuda_kernels {

// `Count` adjacent elements, from an address that is aligned for all of them.
template <class T, int Count>
struct alignas(Count * sizeof(T)) Few {
  T elements[Count];
};

// Calls `use` with each row and first channel that are a thread's: it has some channels, and every `apart`-th row.
template <int Count, class Use>
__device__ __forceinline__ void for_each(int thread, int threads, int units, int rows, Use use) {
  if (units <= threads) {
    const int apart = threads / units, channel = thread % units * Count;
    if (thread >= apart * units) return;
#pragma unroll 4
    for (int row = thread / units; row < rows; row += apart) use(row, channel);
  } else {
    for (int row = 0; row < rows; ++row)
      for (int unit = thread; unit < units; unit += threads) use(row, unit * Count);
  }
}

template <int Threads, int Blocks, int Count, class T>
__device__ __forceinline__ void normalise(const T* x, const T* weight, const T* bias, T* y, int apart, int channels,
                                          int size, float epsilon, float slope, int activation) {
  constexpr int threads = Threads * Blocks;
  const int units = channels / Count, length = channels * size, thread = blockIdx.x % Blocks * Threads + threadIdx.x;
  const auto load = [&](int row, int channel) {
    return *reinterpret_cast<const Few<T, Count>*>(x + static_cast<long long>(row) * apart + channel);
  };
  Differences differences;
  bool is_first = true;
  for_each<Count>(thread, threads, units, size, [&](int row, int channel) {
    const auto few = load(row, channel);
    float some[Count];
    for (int i = 0; i < Count; ++i) some[i] = static_cast<float>(few.elements[i]);
    if (is_first) differences.about = some[0];
    is_first = false;
    differences.add(some, Count);
  });
  if (is_first) differences.about = 0.0f;
  const float base = sizeof(T) == 4 ? static_cast<float>(*x) : 0.0f;
  const Moments all = of_group<Threads, Blocks, 0>(differences.moments(base), threads, MergeMoments());
  const Normalised normal(base, all, epsilon);
  for_each<Count>(thread, threads, units, size, [&](int row, int channel) {
    auto few = load(row, channel);
    float some[Count];
    for (int i = 0; i < Count; ++i) {
      const float factor = weight == nullptr ? 1.0f : static_cast<float>(weight[channel + i]);
      const float summand = bias == nullptr ? 0.0f : static_cast<float>(bias[channel + i]);
      const float number = static_cast<float>(few.elements[i]);
      some[i] = normal.template of<T>(number) * factor + summand;
    }
    activate<T>(activation, some, Count, slope);
    for (int i = 0; i < Count; ++i) few.elements[i] = static_cast<T>(some[i]);
    *reinterpret_cast<Few<T, Count>*>(y + static_cast<long long>(row) * apart + channel) = few;
  });
  leave_group<Threads, Blocks>(threads);
}

#define GROUP_NORM_OPERANDS(T)                                                                       \
  const T *__restrict__ x, const T *__restrict__ weight, const T *__restrict__ bias,                 \
      const unsigned char *__restrict__, T *__restrict__ y, int groups, int of_group, int size,      \
      float epsilon, float slope, int activation

template <int Blocks, class T, int Threads>
__device__ __forceinline__ void group_norm_of_image(const T* __restrict__ x,
                                                    const T* __restrict__ weight,
                                                    const T* __restrict__ bias,
                                                    T* __restrict__ y,
                                                    int groups,
                                                    int of_group,
                                                    int size,
                                                    float epsilon,
                                                    float slope,
                                                    int activation) {
  const int number = blockIdx.x / Blocks, image = number / groups;
  const int first = (number - image * groups) * of_group, apart = groups * of_group;
  const long long start = static_cast<long long>(image) * size * apart + first;
  x += start;
  y += start;
  if (weight != nullptr) weight += first;
  if (bias != nullptr) bias += first;
  const auto addresses = reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(y) |
                         of_group * sizeof(T) | apart * sizeof(T);
  constexpr int most = kPack<T>;
  if (addresses % 16 == 0) {
    normalise<Threads, Blocks, most>(x, weight, bias, y, apart, of_group, size, epsilon, slope, activation);
  } else if (most > 4 && addresses % 8 == 0) {
    normalise<Threads, Blocks, most / 2>(x, weight, bias, y, apart, of_group, size, epsilon, slope, activation);
  } else if (addresses % (2 * sizeof(T)) == 0) {
    normalise<Threads, Blocks, 2>(x, weight, bias, y, apart, of_group, size, epsilon, slope, activation);
  } else {
    normalise<Threads, Blocks, 1>(x, weight, bias, y, apart, of_group, size, epsilon, slope, activation);
  }
}

template <class T, int Threads>
__global__ void __launch_bounds__(Threads) group_norm_last(GROUP_NORM_OPERANDS(T)) {
  group_norm_of_image<1, T, Threads>(x, weight, bias, y, groups, of_group, size, epsilon, slope, activation);
}

// The blocks of a cluster share a group.
template <class T, int Threads, int Blocks>
__global__ void __launch_bounds__(Threads, 2) CUDA_KERNELS_CLUSTER(Blocks) group_norm_last_wide(GROUP_NORM_OPERANDS(T)) {
  group_norm_of_image<Blocks, T, Threads>(x, weight, bias, y, groups, of_group, size, epsilon, slope, activation);
}

}  // namespace cuda_kernels
