// The largest number or the mean of each window of channels-last images [images, height, width, channels], a channel at a
// time, in f32. What is outside an image is no number of a maximum; of a mean it counts as zeros, or does not count.
//
// A thread computes 16 bytes of adjacent channels of a position, or one channel where these are no whole 16 bytes. Memory
// traffic: x is read once for each window that has it, mostly from the caches; y is written once.

#include "../include/pack.cuh"

namespace cuda_kernels {

enum Pooling { kMaximum, kMean, kMeanOfThose };

template <class T, int Count>
__device__ __forceinline__ void pool(long long unit, const T* x, T* y, int images, int height, int width, int channels,
                                     int rows, int columns, int out_height, int out_width, int stride_h, int stride_w,
                                     int padding_h, int padding_w, int dilation_h, int dilation_w, int kind) {
  const long long position = unit / (channels / Count);
  const int channel = static_cast<int>(unit - position * (channels / Count)) * Count;
  const long long line = position / out_width;
  const int image = static_cast<int>(line / out_height), out_row = static_cast<int>(line - static_cast<long long>(image) * out_height);
  if (image >= images) return;
  const int top = out_row * stride_h - padding_h;
  const int left = static_cast<int>(position - line * out_width) * stride_w - padding_w;
  float found[Count], numbers[Count];
  int count = 0;
  for (float& each : found) each = kind == kMaximum ? -__int_as_float(0x7f800000) : 0.0f;
#pragma unroll 1
  for (int r = 0; r < rows; ++r) {
    const int row = top + r * dilation_h;
    if (static_cast<unsigned>(row) >= static_cast<unsigned>(height)) continue;
    const T* const from = x + (static_cast<long long>(image) * height + row) * width * channels + channel;
#pragma unroll 4
    for (int s = 0; s < columns; ++s) {
      const int column = left + s * dilation_w;
      if (static_cast<unsigned>(column) >= static_cast<unsigned>(width)) continue;
      load_some<Count>(from + static_cast<long long>(column) * channels, numbers);
      ++count;
#pragma unroll
      for (int e = 0; e < Count; ++e)
        found[e] = kind != kMaximum ? found[e] + numbers[e] : numbers[e] > found[e] || isnan(numbers[e]) ? numbers[e] : found[e];
    }
  }
  if (kind != kMaximum) {
    // Of a mean, also what padding adds counts, but not what is behind it.
    const int high = min(top + rows, height + padding_h) - top, wide = min(left + columns, width + padding_w) - left;
    const float over = 1.0f / static_cast<float>(kind == kMean ? high * wide : count);
    for (float& each : found) each *= over;
  }
  store_some<Count>(y + position * channels + channel, found);
}

template <class T, int Threads>
__global__ void __launch_bounds__(Threads)
    pooling_last(const T* __restrict__ x, const unsigned char* __restrict__, T* __restrict__ y, int images, int height,
                 int width, int channels, int rows, int columns, int out_height, int out_width, int stride_h,
                 int stride_w, int padding_h, int padding_w, int dilation_h, int dilation_w, int kind) {
  const auto pack = [&](long long unit) {
    pool<T, kPack<T>>(unit, x, y, images, height, width, channels, rows, columns, out_height, out_width, stride_h,
                      stride_w, padding_h, padding_w, dilation_h, dilation_w, kind);
  };
  const auto one = [&](long long unit) {
    pool<T, 1>(unit, x, y, images, height, width, channels, rows, columns, out_height, out_width, stride_h, stride_w,
               padding_h, padding_w, dilation_h, dilation_w, kind);
  };
  const long long first = static_cast<long long>(blockIdx.x) * Threads + threadIdx.x;
  if (aligned(x, y) && channels % kPack<T> == 0) {
    pack(first);
  } else {  // the grid has a thread for 16 bytes
#pragma unroll 1
    for (int i = 0; i < kPack<T>; ++i) one(first + static_cast<long long>(i) * gridDim.x * Threads);
  }
}

}  // namespace cuda_kernels
