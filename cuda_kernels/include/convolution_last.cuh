// What the convolutions of channels-last images share: sizes, and what follows the sums. To be included by kernels:
// #include "../include/convolution_last.cuh".
#pragma once

#include "activations.cuh"

namespace cuda_kernels {

// x is [images, height, width, groups * channels], and the result is [images, out_height, out_width, groups * filters].
struct LastSizes {
  int images, groups, channels, filters, height, width, rows, columns, out_height, out_width;
  int stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w;

  __device__ __forceinline__ int positions() const { return images * out_height * out_width; }
};

// The operands, and their names. What follows a sum is act(sum * factor + summand + residual): the bias and a batch norm
// with known statistics are a factor and a summand, in f32. An absent residual is null.
#define CONVOLUTION_LAST_OPERANDS(T)                                                                                    \
  const T *__restrict__ x, const T *__restrict__ weight, const unsigned char *__restrict__,                             \
      const float *__restrict__ factor, const float *__restrict__ summand, const T *__restrict__ residual,              \
      T *__restrict__ y, int images, int groups, int channels, int filters, int height, int width, int rows,            \
      int columns, int out_height, int out_width, int stride_h, int stride_w, int padding_h, int padding_w,             \
      int dilation_h, int dilation_w, float slope, int activation
#define CONVOLUTION_LAST_SIZES                                                                                          \
  {images,    groups,   channels, filters,   height,    width,      rows,      columns,                                 \
   out_height, out_width, stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w}

}  // namespace cuda_kernels
