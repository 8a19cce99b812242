// What the convolutions share: their sizes, and what follows the sums. To be included by kernels:
// #include "../include/convolution.cuh".
#pragma once

#include "activations.cuh"

namespace cuda_kernels {

// x is [images, groups * channels, height, width], the weights are [groups * filters, channels, rows, columns], and the
// result is [images, groups * filters, out_height, out_width]. A convolution along one axis has a height of 1.
struct ConvolutionSizes {
  int images, groups, channels, filters, height, width, rows, columns, out_height, out_width;
  int stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w;
};

// What may follow: the bias, a batch norm with known statistics, a residual, an activation. Absent operands are null.
template <class T>
struct ConvolutionEpilogue {
  const T *bias, *mean, *variance, *scale, *shift;
  float epsilon, slope;
  int activation;

  // The norm of a filter's sums as one factor and one summand.
  __device__ __forceinline__ void of_filter(int filter, float& factor, float& summand) const {
    factor = 1.0f;
    summand = bias == nullptr ? 0.0f : static_cast<float>(bias[filter]);
    if (mean != nullptr) {
      factor = rsqrtf(static_cast<float>(variance[filter]) + epsilon);
      if (scale != nullptr) factor *= static_cast<float>(scale[filter]);
      summand = (summand - static_cast<float>(mean[filter])) * factor;
      if (shift != nullptr) summand += static_cast<float>(shift[filter]);
    }
  }
};

// The operands that every convolution has, and their names.
#define CONVOLUTION_OPERANDS(T)                                                                                         \
  const T *__restrict__ x, const T *__restrict__ weight, const unsigned char *__restrict__, const T *__restrict__ bias, \
      const T *__restrict__ mean, const T *__restrict__ variance, const T *__restrict__ scale,                          \
      const T *__restrict__ shift, const T *__restrict__ residual, T *__restrict__ y, int images, int groups,           \
      int channels, int filters, int height, int width, int rows, int columns, int out_height, int out_width,           \
      int stride_h, int stride_w, int padding_h, int padding_w, int dilation_h, int dilation_w, float epsilon,          \
      float slope, int activation
#define CONVOLUTION_SIZES                                                                                               \
  {images,    groups,   channels, filters,   height,    width,      rows,      columns,                                 \
   out_height, out_width, stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w}
#define CONVOLUTION_EPILOGUE {bias, mean, variance, scale, shift, epsilon, slope, activation}

}  // namespace cuda_kernels
