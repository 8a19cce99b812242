// y = silu(A G) * (A U) for weights G and U, [n, k] each, and few rows of A, as in a decoding step: a gated linear unit
// (SwiGLU) whose two products and activation are one pass over the weights. A block has the same columns of both, so both
// accumulators of an element meet in its shared memory. The pipeline is that of gemm_few_rows.cu.
//
// Memory traffic: one read of both weights, which is nearly all of it. A separate SwiGLU of so little would take as long as
// reading 12 MB of weights, and the first loads of another launch would have nothing to overlap with.

#include "../include/activation.cuh"
#include "../include/few_rows.cuh"

namespace cuda_kernels {

template <class T, int Rows, int Columns, int Warps, int Stages>
__global__ void __launch_bounds__(32 * Warps) gated_few_rows(const T* __restrict__ a,
                                                             const T* __restrict__ gate,
                                                             const T* __restrict__ up,
                                                             T* __restrict__ y,
                                                             int m,
                                                             int n,
                                                             int k) {
  using Skinny = SkinnyMainloop<Rows, 2 * Columns, Warps, Stages>;
  constexpr int width = 8 * Columns;
  const int first_n = blockIdx.x * width;
  const bool vectorised = aligned(a, gate, up) && k % 8 == 0;
  const float* const parts = Skinny::mainloop(a, m, k, vectorised, [&](int column) {
    const int at = first_n + column % width;
    return WeightsRow<T>{(column < width ? gate : up) + static_cast<long long>(at) * k, at < n};
  });

  for (int unit = threadIdx.x; unit < 16 * Rows * width; unit += Skinny::kThreads) {
    const int of_m = unit / width, column = unit % width, of_n = first_n + column;
    if (of_m >= m || of_n >= n) continue;
    const float gated = Silu::of<float>(Skinny::sum_of(parts, of_m, column));
    y[static_cast<long long>(of_m) * n + of_n] = static_cast<T>(gated * Skinny::sum_of(parts, of_m, width + column));
  }
}

}  // namespace cuda_kernels
