// y = act(norm(convolution(x, weight) + bias) + residual) as in convolution.cu, where each filter has one channel of x:
// depthwise convolutions, whose channels have one or more filters each.
//
// There is nothing to share between filters, so this takes no tensor cores. A thread computes `kAdjacent` outputs of a
// row. For each row of taps it loads what these need once, into registers, if the number of taps in a row is one of the
// usual ones: 3, 4, 5 or 7, with a stride of 1 or 2 along the row and no dilation. Others are loaded tap by tap. The
// weights of a filter are in shared memory, as f32.
//
// Memory traffic: x is read once by each filter of a channel, but for the rows that neighbouring blocks have in common;
// y is written once.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../include/convolution.cuh"

namespace cuda_kernels {

constexpr int kAdjacent = 4;     // outputs of a thread
constexpr int kWeights = 1024;  // of a filter that are kept in shared memory

template <class T>
struct Depthwise {
  const ConvolutionSizes& of;
  const T* image;            // the channel of x
  const T* weight;           // of the filter
  const float* kept;         // the same in shared memory; null where they have no room
  int top, left;             // the first tap of the first output

  __device__ __forceinline__ float weight_at(int tap) const {
    return kept != nullptr ? kept[tap] : static_cast<float>(weight[tap]);
  }

  __device__ __forceinline__ float at(const T* row, int column) const {
    return static_cast<unsigned>(column) < static_cast<unsigned>(of.width) ? static_cast<float>(row[column]) : 0.0f;
  }

  // Calls add(row of x, its number among the taps) for every row that is there.
  template <class Add>
  __device__ __forceinline__ void each_row(Add add) const {
#pragma unroll 1
    for (int r = 0; r < of.rows; ++r) {
      const int row = top + r * of.dilation_h;
      if (static_cast<unsigned>(row) < static_cast<unsigned>(of.height))
        add(image + static_cast<long long>(row) * of.width, r);
    }
  }

  template <int Columns, int Stride>
  __device__ __forceinline__ void usual(float (&sums)[kAdjacent]) const {
    constexpr int count = (kAdjacent - 1) * Stride + Columns;
    each_row([&](const T* row, int r) {
      float numbers[count];
#pragma unroll
      for (int i = 0; i < count; ++i) numbers[i] = at(row, left + i);
#pragma unroll
      for (int s = 0; s < Columns; ++s) {
        const float factor = weight_at(r * Columns + s);
#pragma unroll
        for (int i = 0; i < kAdjacent; ++i) sums[i] += numbers[i * Stride + s] * factor;
      }
    });
  }

  __device__ __forceinline__ void any(float (&sums)[kAdjacent]) const {
    each_row([&](const T* row, int r) {
#pragma unroll 1
      for (int s = 0; s < of.columns; ++s) {
        const float factor = weight_at(r * of.columns + s);
#pragma unroll
        for (int i = 0; i < kAdjacent; ++i)
          sums[i] += at(row, left + i * of.stride_w + s * of.dilation_w) * factor;
      }
    });
  }

  template <int Columns>
  __device__ __forceinline__ void usual_stride(float (&sums)[kAdjacent]) const {
    if (of.stride_w == 1) {
      usual<Columns, 1>(sums);
    } else {
      usual<Columns, 2>(sums);
    }
  }

  __device__ __forceinline__ void run(float (&sums)[kAdjacent]) const {
    const int columns = of.dilation_w == 1 && of.stride_w <= 2 ? of.columns : 0;
    switch (columns) {
      case 3: return usual_stride<3>(sums);
      case 4: return usual_stride<4>(sums);
      case 5: return usual_stride<5>(sums);
      case 7: return usual_stride<7>(sums);
      default: return any(sums);
    }
  }
};

template <class T, int Threads>
__global__ void __launch_bounds__(Threads) depthwise(CONVOLUTION_OPERANDS(T)) {
  const ConvolutionSizes of = CONVOLUTION_SIZES;
  const ConvolutionEpilogue<T> end = CONVOLUTION_EPILOGUE;
  __shared__ float kept[kWeights];
  const int across = (out_width + kAdjacent - 1) / kAdjacent, units = across * out_height;
  const int blocks = (units + Threads - 1) / Threads, plane = blockIdx.x / blocks;
  const int image = plane / (groups * filters), filter = plane - image * (groups * filters);
  const int of_filter = rows * columns;
  weight += static_cast<long long>(filter) * of_filter;
  const bool has_room = of_filter <= kWeights;
  if (has_room)
    for (int i = threadIdx.x; i < of_filter; i += Threads) kept[i] = static_cast<float>(weight[i]);
  __syncthreads();

  const int unit = blockIdx.x % blocks * Threads + threadIdx.x, out_row = unit / across;
  if (out_row >= out_height) return;
  const int out_column = (unit - out_row * across) * kAdjacent;
  const T* const of_channel =
      x + (static_cast<long long>(image) * groups + filter / filters) * height * width;
  const Depthwise<T> sum = {of, of_channel, weight, has_room ? kept : nullptr, out_row * stride_h - padding_h,
                            out_column * stride_w - padding_w};
  float sums[kAdjacent] = {};
  sum.run(sums);
  float factor, summand;
  end.of_filter(filter, factor, summand);
  const long long at = (static_cast<long long>(plane) * out_height + out_row) * out_width + out_column;
#pragma unroll
  for (int i = 0; i < kAdjacent; ++i) {
    if (out_column + i >= out_width) break;
    float value = sums[i] * factor + summand;
    if (residual != nullptr) value += static_cast<float>(residual[at + i]);
    y[at + i] = static_cast<T>(activated<T>(activation, value, slope));
  }
}

}  // namespace cuda_kernels
