// y = silu(A G) * (A U) for weights G and U, [n, k] each, and few rows of A, as in a step of decoding: two products and
// SwiGLU in one pass over the weights. A block has as many columns of either, so that both sums of an element meet in
// its shared memory. The pipeline is that of gemm_few_rows.cu.
//
// Memory traffic: one read of both weights, which is nearly all of it. SwiGLU of so little by itself takes as long as 12 MB
// of weights, and the first loads of another launch have nothing beside them.

#include "../include/activation.cuh"
#include "../include/few_rows.cuh"

namespace cuda_kernels {

template <class T, int Rows, int Columns, int Warps, int Depth>
__global__ void __launch_bounds__(32 * Warps) gated_few_rows(const T* __restrict__ a,
                                                             const T* __restrict__ gate,
                                                             const T* __restrict__ up,
                                                             T* __restrict__ y,
                                                             int m,
                                                             int n,
                                                             int k) {
  using Few = FewRows<Rows, 2 * Columns, Warps, Depth>;
  constexpr int width = 8 * Columns;
  const int first_n = blockIdx.x * width;
  const bool packs = aligned(a, gate, up) && k % 8 == 0;
  const float* const parts = Few::multiply(a, m, k, packs, [&](int column) {
    const int at = first_n + column % width;
    return WeightsRow<T>{(column < width ? gate : up) + static_cast<long long>(at) * k, at < n};
  });

  for (int unit = threadIdx.x; unit < 16 * Rows * width; unit += Few::kThreads) {
    const int of_m = unit / width, column = unit % width, of_n = first_n + column;
    if (of_m >= m || of_n >= n) continue;
    const float gated = Silu::of<float>(Few::sum_of(parts, of_m, column));
    y[static_cast<long long>(of_m) * n + of_n] = static_cast<T>(gated * Few::sum_of(parts, of_m, width + column));
  }
}

}  // namespace cuda_kernels
