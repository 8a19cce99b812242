// C = act(A B + bias + residual) as in gemm_sm80.cu, skinny: B are weights [n, k] and A has few rows, up to 16 * Rows.
// It is one pass over B then, and all that matters is to keep enough of B in flight.
//
// A block computes all rows of 8 * Columns columns of C. Its warps interleave k (sliced-K), 32 at a time, and the
// epilogue reduces their accumulators in shared memory. B goes to fragments of mma.sync (../include/mma.cuh) without
// moving between threads: a fragment wants pairs of k that are 8 apart from each thread, 4 bytes here and there, but a
// sum has no order. Whichever 16 of k an mma.sync takes, it is right if it takes the same of A and of B. So a thread
// takes 8 adjacent k, which are 16 bytes of a row of weights and of a row of A.
//
// The pipeline (../include/few_rows.cuh): each thread has `Stages` stages in shared memory of its own. cp.async fills
// them Stages - 1 steps ahead with what the same thread reads again: no barriers, and no registers for data in flight.
// 8 warps with 4 columns and 4 stages have 48 KiB of B in flight.
//
// Memory traffic: one read of B, which is nearly all of it; A is read by each block, from the L2 cache.

#include "../include/activation.cuh"
#include "../include/few_rows.cuh"

namespace cuda_kernels {

template <class In, class Out, class Activation, int Rows, int Columns, int Warps, int Stages, class... Numbers>
__global__ void __launch_bounds__(32 * Warps) gemm_few_rows(const In* __restrict__ a,
                                                            const In* __restrict__ b,
                                                            const In* __restrict__ bias,
                                                            const Out* __restrict__ residual,
                                                            Out* __restrict__ c,
                                                            int batch,
                                                            int m,
                                                            int n,
                                                            int k,
                                                            Numbers... numbers) {
  using Skinny = SkinnyMainloop<Rows, Columns, Warps, Stages>;
  constexpr int width = Skinny::kWidth;
  const int blocks = (n + width - 1) / width, number = blockIdx.x / blocks;
  const int first_n = blockIdx.x % blocks * width;
  a += static_cast<long long>(number) * m * k;
  b += static_cast<long long>(number) * n * k;
  const bool vectorised = aligned(a, b) && k % 8 == 0;
  const float* const parts = Skinny::mainloop(a, m, k, vectorised, [&](int column) {
    const int at = first_n + column;
    return WeightsRow<In>{b + static_cast<long long>(at) * k, at < n};
  });

  const Activation activation{numbers...};
  for (int unit = threadIdx.x; unit < 16 * Rows * width; unit += Skinny::kThreads) {
    const int of_m = unit / width, of_n = first_n + unit % width;
    if (of_m >= m || of_n >= n) continue;
    float value = Skinny::sum_of(parts, of_m, unit % width);
    const long long at = (static_cast<long long>(number) * m + of_m) * n + of_n;
    if (bias != nullptr) value += static_cast<float>(bias[of_n]);
    if (residual != nullptr) value = activation.joined(value, static_cast<float>(residual[at]), of_n);
    c[at] = static_cast<Out>(activation.template of<Out>(value, of_n));
  }
}

}  // namespace cuda_kernels
