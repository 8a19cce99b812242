// y = silu(A G) * (A U) as in gated_few_rows.cu, for CPUs: the implementation for the target `cpu`, where a warp is one
// thread whose registers are vectors of 32 numbers.
//
// A block has kColumns columns. For each row its lanes take adjacent k of both weights, where they are in memory, and
// their sums are reduced at the end.
//
// Memory traffic: one read of both weights for the first row; for the others they are in the cache.

#include "../include/activation.cuh"
#include "../include/add_product.cuh"
#include "../include/pack.cuh"

namespace cuda_kernels {

constexpr int kLanes = 32, kColumns = 4;

template <class T>
__global__ void __launch_bounds__(kLanes) gated_few_rows_cpu(const T* __restrict__ a,
                                                             const T* __restrict__ gate,
                                                             const T* __restrict__ up,
                                                             T* __restrict__ y,
                                                             int m,
                                                             int n,
                                                             int k) {
  const int first_n = blockIdx.x * kColumns, lane = threadIdx.x;
  __shared__ float kept[2 * kColumns][kLanes];
#pragma unroll 1
  for (int row = 0; row < m; ++row) {
    const T* const from = a + static_cast<long long>(row) * k;
    float sums[2 * kColumns] = {};
#pragma unroll 1
    for (int at = 0; at < k; at += kLanes) {
      const int d = at + lane;
      const bool is_there = d < k;
      const float left = is_there ? static_cast<float>(from[d]) : 0.0f;
#pragma unroll
      for (int j = 0; j < 2 * kColumns; ++j) {
        const T* const weights = j < kColumns ? gate : up;
        const long long of_n = min(first_n + j % kColumns, n - 1);
        add_product(sums[j], left, is_there ? static_cast<float>(weights[of_n * k + d]) : 0.0f);
      }
    }
#pragma unroll
    for (int j = 0; j < 2 * kColumns; ++j) kept[j][lane] = sums[j];
    __syncwarp();
    float value = 0.0f;  // each lane adds all lanes' parts of one sum
#pragma unroll 4
    for (int d = 0; d < kLanes; ++d) value += kept[lane % (2 * kColumns)][d];
    __syncwarp();
    kept[0][lane] = value;
    __syncwarp();
    const int column = first_n + lane;
    if (lane < kColumns && column < n)
      y[static_cast<long long>(row) * n + column] = static_cast<T>(Silu::of<float>(value) * kept[0][kColumns + lane]);
    __syncwarp();
  }
}

}  // namespace cuda_kernels
