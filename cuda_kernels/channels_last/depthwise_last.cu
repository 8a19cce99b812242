// y = act(convolution(x, weight) * factor + summand + residual) of channels-last images, where each filter has one channel
// of x. x and y are [images, height, width, channels], the weights [rows, columns, filters]: adjacent threads have adjacent
// filters, so all accesses are whole lines.
//
// There is nothing to share between filters, so this takes no tensor cores. A thread computes kAcross outputs of a row, for
// one filter or two. For each row of taps it loads what these need once, into registers, if the number of taps in a row is
// one of the usual ones: 3, 4, 5 or 7, with a stride of 1 or 2 along the row and no dilation. Others are loaded tap by tap.
//
// Memory traffic: x is read once, but for the rows and columns that neighbouring threads have in common, which the caches
// hold; y is written once.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../include/convolution_last.cuh"

namespace cuda_kernels {

constexpr int kAcross = 7;  // outputs of a thread: usual widths are multiples of 7

// `Count` adjacent elements as floats: one, or two from an address that is aligned for both.
template <int Count, class T>
__device__ __forceinline__ void load_few(const T* from, float (&values)[Count]) {
  struct alignas(Count * sizeof(T)) Few {
    T elements[Count];
  };
  Few few;
  few = *reinterpret_cast<const Few*>(from);
#pragma unroll
  for (int i = 0; i < Count; ++i) values[i] = static_cast<float>(few.elements[i]);
}

template <class T, int Count>
struct DepthwiseLast {
  const LastSizes& of;
  const T* x;       // the channels of the image
  const T* weight;  // the filters
  int apart, filters;  // elements from position to position of x, and from tap to tap
  int top, left;       // the first tap of the first output

  __device__ __forceinline__ void load(const T* line, int column, float (&values)[Count]) const {
    if (static_cast<unsigned>(column) < static_cast<unsigned>(of.width)) {
      load_few<Count>(line + static_cast<long long>(column) * apart, values);
    } else {
      for (float& value : values) value = 0.0f;
    }
  }

  template <int Columns, int Stride>
  __device__ __forceinline__ void usual(float (&sums)[kAcross][Count]) const {
    constexpr int count = (kAcross - 1) * Stride + Columns;
#pragma unroll 1
    for (int r = 0; r < of.rows; ++r) {
      const int row = top + r * of.dilation_h;
      if (static_cast<unsigned>(row) >= static_cast<unsigned>(of.height)) continue;
      const T* const line = x + static_cast<long long>(row) * of.width * apart;
      float numbers[count][Count];
#pragma unroll
      for (int i = 0; i < count; ++i) load(line, left + i, numbers[i]);
#pragma unroll
      for (int s = 0; s < Columns; ++s) {
        float factors[Count];
        load_few<Count>(weight + static_cast<long long>(r * Columns + s) * filters, factors);
#pragma unroll
        for (int i = 0; i < kAcross; ++i)
          for (int e = 0; e < Count; ++e) sums[i][e] += numbers[i * Stride + s][e] * factors[e];
      }
    }
  }

  __device__ __forceinline__ void any(float (&sums)[kAcross][Count]) const {
#pragma unroll 1
    for (int r = 0; r < of.rows; ++r) {
      const int row = top + r * of.dilation_h;
      if (static_cast<unsigned>(row) >= static_cast<unsigned>(of.height)) continue;
      const T* const line = x + static_cast<long long>(row) * of.width * apart;
#pragma unroll 1
      for (int s = 0; s < of.columns; ++s) {
        float factors[Count], numbers[Count];
        load_few<Count>(weight + static_cast<long long>(r * of.columns + s) * filters, factors);
#pragma unroll
        for (int i = 0; i < kAcross; ++i) {
          load(line, left + i * of.stride_w + s * of.dilation_w, numbers);
          for (int e = 0; e < Count; ++e) sums[i][e] += numbers[e] * factors[e];
        }
      }
    }
  }

  template <int Columns>
  __device__ __forceinline__ void usual_stride(float (&sums)[kAcross][Count]) const {
    if (of.stride_w == 1) {
      usual<Columns, 1>(sums);
    } else {
      usual<Columns, 2>(sums);
    }
  }

  __device__ __forceinline__ void run(float (&sums)[kAcross][Count]) const {
    switch (of.dilation_w == 1 && of.stride_w <= 2 ? of.columns : 0) {
      case 3: return usual_stride<3>(sums);
      case 4: return usual_stride<4>(sums);
      case 5: return usual_stride<5>(sums);
      case 7: return usual_stride<7>(sums);
      default: return any(sums);
    }
  }
};

// What the thread `unit` computes: `Count` filters of kAcross positions.
template <int Count, class T>
__device__ __forceinline__ void compute(long long unit, const LastSizes& of, const T* x, const T* weight,
                                        const float* factor, const float* summand, const T* residual, T* y, float slope,
                                        int activation) {
  const int filters = of.groups * of.filters, across = (of.out_width + kAcross - 1) / kAcross;
  const long long place = unit / (filters / Count);
  const int filter = static_cast<int>(unit - place * (filters / Count)) * Count;
  const long long line = place / across;
  const int out_column = static_cast<int>(place - line * across) * kAcross;
  const int image = static_cast<int>(line / of.out_height), out_row = static_cast<int>(line - static_cast<long long>(image) * of.out_height);
  if (image >= of.images) return;
  const T* const of_image = x + static_cast<long long>(image) * of.height * of.width * of.groups + filter / of.filters;
  const DepthwiseLast<T, Count> sum = {of, of_image, weight + filter, of.groups, filters, out_row * of.stride_h - of.padding_h,
                                       out_column * of.stride_w - of.padding_w};
  float sums[kAcross][Count] = {}, factors[Count], summands[Count];
  sum.run(sums);
  for (int e = 0; e < Count; ++e) factors[e] = factor[filter + e], summands[e] = summand[filter + e];
  const long long at = (line * of.out_width + out_column) * filters + filter;
#pragma unroll
  for (int i = 0; i < kAcross; ++i) {
    if (out_column + i >= of.out_width) break;
    struct alignas(Count * sizeof(T)) Few {
      T elements[Count];
    } few;
    float others[Count] = {};
    if (residual != nullptr) load_few<Count>(residual + at + static_cast<long long>(i) * filters, others);
    for (int e = 0; e < Count; ++e)
      few.elements[e] =
          static_cast<T>(activated<T>(activation, sums[i][e] * factors[e] + summands[e] + others[e], slope));
    *reinterpret_cast<Few*>(y + at + static_cast<long long>(i) * filters) = few;
  }
}

template <class T, int Threads>
__global__ void __launch_bounds__(Threads, 4) depthwise_last(CONVOLUTION_LAST_OPERANDS(T)) {
  const LastSizes of = CONVOLUTION_LAST_SIZES;
  const long long unit = static_cast<long long>(blockIdx.x) * Threads + threadIdx.x;
  const auto addresses = reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(weight) |
                         reinterpret_cast<unsigned long long>(residual) | reinterpret_cast<unsigned long long>(y);
  if (filters == 1 && groups % 2 == 0 && addresses % (2 * sizeof(T)) == 0) {
    compute<2>(unit, of, x, weight, factor, summand, residual, y, slope, activation);
  } else {
    // The grid has a thread for two filters.
    const long long stride = static_cast<long long>(gridDim.x) * Threads;
    compute<1>(unit, of, x, weight, factor, summand, residual, y, slope, activation);
    compute<1>(unit + stride, of, x, weight, factor, summand, residual, y, slope, activation);
  }
}

}  // namespace cuda_kernels
