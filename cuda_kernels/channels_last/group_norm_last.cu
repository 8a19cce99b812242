// Group normalisation of channels-last images [images, size, channels], and an activation: as norms/group_norm.cu, for f32,
// f16 and bf16, in f32. Weight and bias may be absent (null).
//
// A block, or a cluster of them, normalises some groups of an image. Their channels are adjacent, so that a warp reads
// whole sectors at each position, of which every block of a cluster has its share. A thread has the same channels at all
// of its positions: it holds their weights, and sums up for one group. The second time positions are read from the caches.
//
// Memory traffic: one read and one write of each element, if groups fit into the L2 cache.

#include "../include/activations.cuh"
#include "../include/cluster.cuh"
#include "../include/moments.cuh"

namespace cuda_kernels {

constexpr int kMostGroups = 64;  // of a block

// `Count` adjacent elements, from an address that is aligned for all of them.
template <class T, int Count>
struct alignas(Count * sizeof(T)) Few {
  T elements[Count];
};

__device__ __forceinline__ Moments merged(const Moments& one, const Moments& other) {
  const float count = one.count + other.count;
  const float mean = __fdividef(one.count * one.mean + other.count * other.mean, fmaxf(count, 1.0f));
  const float left = one.mean - mean, right = other.mean - mean;
  return {count, mean, one.squares + other.squares + one.count * left * left + other.count * right * right};
}

// Of `groups` groups: x and what else there is begin at the first of them.
template <int Threads, int Blocks, int Count, class T>
__device__ __forceinline__ void normalise(const T* x, const T* weight, const T* bias, T* y, int channels, int groups,
                                          int of_group, int size, float epsilon, float slope, int activation) {
  __shared__ Moments parts[Threads], found[kMostGroups], of_all_blocks[kMostGroups];
  // A group that is wider than a block is its only one.
  const int units = groups * of_group / Count, across = min(units, Threads), of_one = min(of_group / Count, Threads);
  const int lanes = Threads / across, thread = threadIdx.x, column = thread % across, group = column / of_one;
  const int lane = thread / across, apart = lanes * Blocks, rank = Blocks > 1 ? blockIdx.x % Blocks : 0;
  const int first = lane < lanes ? rank * lanes + lane : size;
  const auto base_of = [&](int which) { return sizeof(T) == 4 ? static_cast<float>(x[which * of_group]) : 0.0f; };

  Differences differences;
  differences.about = 0.0f;
  bool is_first = true;
  for (int unit = column; unit < units; unit += Threads) {
    const T* from = x + unit * Count;
#pragma unroll 8
    for (int row = first; row < size; row += apart) {
      const auto few = *reinterpret_cast<const Few<T, Count>*>(from + static_cast<long long>(row) * channels);
      float some[Count];
      for (int i = 0; i < Count; ++i) some[i] = static_cast<float>(few.elements[i]);
      if (is_first) differences.about = some[0];
      is_first = false;
      differences.add(some, Count);
    }
  }
  parts[thread] = is_first ? Moments{0.0f, 0.0f, 0.0f} : differences.moments(base_of(group));
  __syncthreads();
  for (int which = thread / 32; which < groups; which += Threads / 32) {
    Moments all{0.0f, 0.0f, 0.0f};
    for (int i = thread % 32; i < of_one * lanes; i += 32)
      all = merged(all, parts[i / of_one * across + which * of_one + i % of_one]);
    all = MergeMoments()(all, 32);
    if (thread % 32 == 0) found[which] = all;
  }
  if constexpr (Blocks > 1) {
    cluster_sync();
    for (int which = thread / 32; which < groups; which += Threads / 32) {
      Moments all{0.0f, 0.0f, 0.0f};
      if (thread % 32 < Blocks) all = from_block(found[which], thread % 32);
      all = MergeMoments()(all, 32);
      if (thread % 32 == 0) of_all_blocks[which] = all;
    }
  }
  __syncthreads();
  if constexpr (Blocks > 1) cluster_arrive();  // what others found was read
  const Normalised normal(base_of(group), (Blocks > 1 ? of_all_blocks : found)[group], epsilon);

  for (int unit = column; unit < units; unit += Threads) {
    const T* from = x + unit * Count;
    T* to = y + unit * Count;
    float factors[Count], summands[Count];
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      factors[i] = weight == nullptr ? 1.0f : static_cast<float>(weight[unit * Count + i]);
      summands[i] = bias == nullptr ? 0.0f : static_cast<float>(bias[unit * Count + i]);
    }
#pragma unroll 4
    for (int row = first; row < size; row += apart) {
      const long long at = static_cast<long long>(row) * channels;
      auto few = *reinterpret_cast<const Few<T, Count>*>(from + at);
      float some[Count];
#pragma unroll
      for (int i = 0; i < Count; ++i)
        some[i] = normal.template of<T>(static_cast<float>(few.elements[i])) * factors[i] + summands[i];
      activate<T>(activation, some, Count, slope);
#pragma unroll
      for (int i = 0; i < Count; ++i) few.elements[i] = static_cast<T>(some[i]);
      *reinterpret_cast<Few<T, Count>*>(to + at) = few;
    }
  }
  if constexpr (Blocks > 1) cluster_wait();
}

#define GROUP_NORM_OPERANDS(T)                                                                             \
  const T *__restrict__ x, const T *__restrict__ weight, const T *__restrict__ bias,                       \
      const unsigned char *__restrict__, T *__restrict__ y, int groups, int of_group, int of_block,        \
      int size, float epsilon, float slope, int activation

// `of_block` groups are a block's, fewer are the last one's of an image.
template <int Blocks, class T, int Threads>
__device__ __forceinline__ void group_norm_of_image(const T* __restrict__ x,
                                                    const T* __restrict__ weight,
                                                    const T* __restrict__ bias,
                                                    T* __restrict__ y,
                                                    int groups,
                                                    int of_group,
                                                    int of_block,
                                                    int size,
                                                    float epsilon,
                                                    float slope,
                                                    int activation) {
  const int chunks = (groups + of_block - 1) / of_block, number = blockIdx.x / Blocks, image = number / chunks;
  const int first_group = (number - image * chunks) * of_block, own = min(of_block, groups - first_group);
  const int channels = groups * of_group, first = first_group * of_group;
  const long long start = static_cast<long long>(image) * size * channels + first;
  x += start;
  y += start;
  if (weight != nullptr) weight += first;
  if (bias != nullptr) bias += first;
  const auto addresses = reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(y) |
                         of_group * sizeof(T) | channels * sizeof(T);
  constexpr int most = kPack<T>;
  if (addresses % 16 == 0) {
    normalise<Threads, Blocks, most>(x, weight, bias, y, channels, own, of_group, size, epsilon, slope, activation);
  } else if (most > 4 && addresses % 8 == 0) {
    normalise<Threads, Blocks, most / 2>(x, weight, bias, y, channels, own, of_group, size, epsilon, slope, activation);
  } else if (addresses % (2 * sizeof(T)) == 0) {
    normalise<Threads, Blocks, 2>(x, weight, bias, y, channels, own, of_group, size, epsilon, slope, activation);
  } else {
    normalise<Threads, Blocks, 1>(x, weight, bias, y, channels, own, of_group, size, epsilon, slope, activation);
  }
}

template <class T, int Threads>
__global__ void __launch_bounds__(Threads, 2) group_norm_last(GROUP_NORM_OPERANDS(T)) {
  group_norm_of_image<1, T, Threads>(x, weight, bias, y, groups, of_group, of_block, size, epsilon, slope, activation);
}

// The blocks of a cluster share groups.
template <class T, int Threads, int Blocks>
__global__ void __launch_bounds__(Threads, 2) CUDA_KERNELS_CLUSTER(Blocks) group_norm_last_wide(GROUP_NORM_OPERANDS(T)) {
  group_norm_of_image<Blocks, T, Threads>(x, weight, bias, y, groups, of_group, of_block, size, epsilon, slope, activation);
}

}  // namespace cuda_kernels
