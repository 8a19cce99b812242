// C = A B + residual as in grouped.cu, for weights [groups, n, k] of f16 or bf16 and few rows of each group, as in a decoding
// step: then each matrix that has rows is read once, and all that matters is to keep enough of it in flight.
//
// A block computes up to 16 * Rows rows of a group, and 8 * Columns columns, with the mainloop of gemm_few_rows.cu
// (../include/few_rows.cuh).
//
// Memory traffic: one read of the matrices of the groups that have rows, which is nearly all of it.

#include "../include/few_rows.cuh"
#include "../include/groups.cuh"

namespace cuda_kernels {

template <class T, int Rows, int Columns, int Warps, int Stages>
__global__ void __launch_bounds__(32 * Warps) grouped_few_rows(const T* __restrict__ a,
                                                               const T* __restrict__ b,
                                                               const int* __restrict__ offsets,
                                                               const T* __restrict__ residual,
                                                               T* __restrict__ c,
                                                               int rows,
                                                               int groups,
                                                               int n,
                                                               int k,
                                                               int tiles) {
  using Skinny = SkinnyMainloop<Rows, Columns, Warps, Stages>;
  constexpr int width = Skinny::kWidth, height = 16 * Rows;
  const int blocks = (n + width - 1) / width;
  const Group group = group_of<height>(offsets, groups, rows, blockIdx.x / blocks);
  if (group.rows == 0) return;
  const int first_m = group.start + group.tile * height, m = min(group.rows - group.tile * height, height);
  const int first_n = blockIdx.x % blocks * width;
  a += static_cast<long long>(first_m) * k;
  const bool has_weights = group.number < groups;
  if (has_weights) b += static_cast<long long>(group.number) * n * k;
  const bool vectorised = aligned(a, b) && k % 8 == 0;
  const float* const parts = Skinny::mainloop(a, m, has_weights ? k : 0, vectorised, [&](int column) {
    const int at = first_n + column;
    return WeightsRow<T>{b + static_cast<long long>(at) * k, at < n};
  });

  for (int unit = threadIdx.x; unit < height * width; unit += Skinny::kThreads) {
    const int of_m = unit / width, of_n = first_n + unit % width;
    if (of_m >= m || of_n >= n) continue;
    float value = Skinny::sum_of(parts, of_m, unit % width);
    const long long at = static_cast<long long>(first_m + of_m) * n + of_n;
    if (residual != nullptr) value += static_cast<float>(residual[at]);
    c[at] = static_cast<T>(value);
  }
}

}  // namespace cuda_kernels
