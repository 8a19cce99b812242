// Group normalisation: y = act((x - mean) / sqrt(variance + epsilon) * weight[channel] + bias[channel]) for f32, f16 and
// bf16, in f32, with the mean and variance of each group of an image's channels. Weight and bias may each be absent
// (null). An instance norm is one whose groups are single channels.
//
// The channels of a group are adjacent: a group is a row of x, which threads hold in registers (../include/row.cuh).
//
// Memory traffic: one read and one write of each element; two reads of what the threads cannot hold.

#include "../include/activations.cuh"
#include "../include/moments.cuh"

namespace cuda_kernels {

#define GROUP_NORM_OPERANDS(T)                                                                              \
  const T *__restrict__ x, const T *__restrict__ weight, const T *__restrict__ bias,                        \
      const unsigned char *__restrict__, T *__restrict__ y, int groups, int channels, int size, float epsilon, \
      float slope, int activation, int rows, int group

template <class Rows, class T>
__device__ __forceinline__ void group_norm_of_row(const Rows& row,
                                                  const T* __restrict__ x,
                                                  const T* __restrict__ weight,
                                                  const T* __restrict__ bias,
                                                  T* __restrict__ y,
                                                  int groups,
                                                  int channels,
                                                  int size,
                                                  float epsilon,
                                                  float slope,
                                                  int activation) {
  x += row.first;
  y += row.first;
  const int of_group = static_cast<int>(row.number % groups) * channels;
  typename Rows::Part held;
  row.load(x, 0, held);
  const Normalised normal = normalised(row, x, held, epsilon);
  int start = 0;
  do {
    if (!row.is_whole()) row.load(x, start, held);
    row.each(start, held, [&](int at, float* some, int count, int) {
      int channel = at / size, left = (channel + 1) * size - at;  // elements to the channel's end
      float factor, summand;
      const auto look_up = [&] {
        factor = weight == nullptr ? 1.0f : static_cast<float>(weight[of_group + channel]);
        summand = bias == nullptr ? 0.0f : static_cast<float>(bias[of_group + channel]);
      };
      look_up();
      for (int i = 0; i < count; ++i) {
        if (left == 0) {
          ++channel;
          left = size;
          look_up();
        }
        --left;
        some[i] = normal.template of<T>(some[i]) * factor + summand;
      }
      activate<T>(activation, some, count, slope);
      row.put(y, at, some, count);
    });
    start += row.part();
  } while (start < row.units);
  row.leave();
}

template <class T>
struct GroupNormOfRow {
  const T *x, *weight, *bias;
  T* y;
  int groups, channels, size;
  float epsilon, slope;
  int activation;

  template <class Rows>
  __device__ __forceinline__ void operator()(const Rows& row) const {
    group_norm_of_row(row, x, weight, bias, y, groups, channels, size, epsilon, slope, activation);
  }
};

template <class T, int Threads, int Values>
__global__ void __launch_bounds__(Threads, kResident<Threads, 768>) group_norm(GROUP_NORM_OPERANDS(T)) {
  const GroupNormOfRow<T> of_row = {x, weight, bias, y, groups, channels, size, epsilon, slope, activation};
  with_row<T, Threads, Values, 1>(aligned(x, y), are_in_step(x, y), rows, channels * size, group, y, of_row);
}

// Rows that the blocks of a cluster share.
template <class T, int Threads, int Values, int Blocks>
__global__ void __launch_bounds__(Threads, kResident<Threads, 768>) CUDA_KERNELS_CLUSTER(Blocks)
    group_norm_wide(GROUP_NORM_OPERANDS(T)) {
  const GroupNormOfRow<T> of_row = {x, weight, bias, y, groups, channels, size, epsilon, slope, activation};
  with_row<T, Threads, Values, Blocks>(aligned(x, y), are_in_step(x, y), rows, channels * size, group, y, of_row);
}

// The same for CPUs, a warp for each group. All its lanes go through each loop together: then they are a vector.
template <class T>
__global__ void __launch_bounds__(32) group_norm_cpu(GROUP_NORM_OPERANDS(T)) {
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
