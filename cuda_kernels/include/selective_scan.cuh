// The operands of scans, to be included by kernels: #include "../include/selective_scan.cuh".
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cuda_kernels {

// Of T are x, z and y [batch, length, heads, elements], and b and c [batch, length, groups, states]; dt and beta, which the
// delta rule alone has, are [batch, length, heads], a is [heads, rates] with a rate for all states or one for each, d is
// [heads], and first and last are [batch, heads, elements, states]. d, z and first may be null.
#define SCAN_FIRST_OPERANDS(T)                                                                                            \
  const T *__restrict__ x, const float *__restrict__ dt, const float *__restrict__ a, const T *__restrict__ b,            \
      const T *__restrict__ c, const float *__restrict__ d, const T *__restrict__ z
#define SCAN_LAST_OPERANDS(T)                                                                                             \
  const float *__restrict__ first, T *__restrict__ y, float *__restrict__ last, int length, int heads, int elements,      \
      int groups, int states, int rates, int times_dt, int plain
#define SCAN_OPERANDS(T) SCAN_FIRST_OPERANDS(T), SCAN_LAST_OPERANDS(T)
#define DELTA_SCAN_OPERANDS(T) SCAN_FIRST_OPERANDS(T), const float *__restrict__ beta, SCAN_LAST_OPERANDS(T)

// Which channels of a group a block has, of `width` each; `shares` adjacent blocks have the same ones.
struct ScanBlock {
  int heads_of_group, of_group, group, from;
  long long batch;

  __device__ __forceinline__ ScanBlock(int heads, int elements, int groups, int width, int shares = 1)
      : heads_of_group(heads / groups), of_group(heads_of_group * elements) {
    const int blocks = (of_group + width - 1) / width, block = static_cast<int>(blockIdx.x) / shares;
    group = block / blocks % groups;
    batch = block / blocks / groups;
    from = block % blocks * width;
  }
};

// number * silu(gate)
__device__ __forceinline__ float gated(float number, float gate) { return number * (gate / (1.0f + __expf(-gate))); }

}  // namespace cuda_kernels
