// Reductions over the threads of a block, to be included by kernels: #include "include/block_reduce.cuh".
#pragma once

namespace cuda_kernels {

// The sum of `value` over a warp's 32 threads, in each of them. All must call it.
__device__ __forceinline__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

// The sum of `value` over the block's `Threads` threads, in each of them. All must call it, and it
// may be called again: it ends with a barrier. Needs 4 bytes of shared memory for each warp.
template <int Threads>
__device__ __forceinline__ float block_sum(float value) {
  static_assert(Threads % 32 == 0 && Threads <= 1024, "a block of whole warps");
  constexpr int warps = Threads / 32;
  __shared__ float sums[warps];
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0.0f;
  for (int warp = 0; warp < warps; ++warp) total += sums[warp];
  __syncthreads();
  return total;
}

}  // namespace cuda_kernels
