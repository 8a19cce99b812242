// C = act(A B + bias + residual) as in gemm_sm80.cu, where B are weights [n, k] and A has few rows, up to 16 * Rows. It is
// one pass over B then, and all there is to do is to have enough of B under way at any time.
//
// A block computes all rows of 8 * Columns columns of C. Its warps share k, 32 at a time in turn, and add their
// sums up in shared memory at the end. B goes to fragments of mma.sync (../include/mma.cuh) without being moved
// between threads: a fragment wants of each thread pairs of k that are 8 apart, 4 bytes here and there, but a sum has no
// order. Whatever 16 of k a mma.sync takes, it is right if it takes the same of A and of B. So a thread takes 8
// neighbours of k, which are 16 bytes of a row of weights and of a row of A.
//
// The pipeline (../include/few_rows.cuh): each thread has a ring of `Depth` stages in shared memory, that nobody else uses. cp.async fills it
// Depth - 1 steps ahead, with what the thread itself takes out again: no barriers, and nothing in registers that waits.
// 8 warps with 4 columns and 4 stages have 48 KiB of B on the way.
//
// Memory traffic: one read of B, which is nearly all of it; A is read by each block, from the L2 cache.

#include "../include/activation.cuh"
#include "../include/few_rows.cuh"

namespace cuda_kernels {

template <class In, class Out, class Activation, int Rows, int Columns, int Warps, int Depth>
__global__ void __launch_bounds__(32 * Warps) gemm_few_rows(const In* __restrict__ a,
                                                            const In* __restrict__ b,
                                                            const In* __restrict__ bias,
                                                            const Out* __restrict__ residual,
                                                            Out* __restrict__ c,
                                                            int batch,
                                                            int m,
                                                            int n,
                                                            int k) {
  using Few = FewRows<Rows, Columns, Warps, Depth>;
  constexpr int width = Few::kWidth;
  const int blocks = (n + width - 1) / width, number = blockIdx.x / blocks;
  const int first_n = blockIdx.x % blocks * width;
  a += static_cast<long long>(number) * m * k;
  b += static_cast<long long>(number) * n * k;
  const bool packs = aligned(a, b) && k % 8 == 0;
  const float* const parts = Few::multiply(a, m, k, packs, [&](int column) {
    const int at = first_n + column;
    return WeightsRow<In>{b + static_cast<long long>(at) * k, at < n};
  });

  for (int unit = threadIdx.x; unit < 16 * Rows * width; unit += Few::kThreads) {
    const int of_m = unit / width, of_n = first_n + unit % width;
    if (of_m >= m || of_n >= n) continue;
    float value = Few::sum_of(parts, of_m, unit % width);
    const long long at = (static_cast<long long>(number) * m + of_m) * n + of_n;
    if (bias != nullptr) value += static_cast<float>(bias[of_n]);
    if (residual != nullptr) value += static_cast<float>(residual[at]);
    c[at] = static_cast<Out>(Activation::template of<Out>(value));
  }
}

}  // namespace cuda_kernels
