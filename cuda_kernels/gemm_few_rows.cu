// C = act(A B + bias + residual) as in gemm_sm80.cu, where B are weights [n, k] and A has few rows, up to 16 * Rows. It is
// one pass over B then, and all there is to do is to have enough of B under way at any time.
//
// A block computes all rows of 8 * Columns columns of C. Its warps share k, 32 at a time in turn, and add their
// sums up in shared memory at the end. B goes to fragments of mma.sync (include/mma.cuh) without being moved
// between threads: a fragment wants of each thread pairs of k that are 8 apart, 4 bytes here and there, but a sum has no
// order. Whatever 16 of k a mma.sync takes, it is right if it takes the same of A and of B. So a thread takes 8
// neighbours of k, which are 16 bytes of a row of weights and of a row of A.
//
// The pipeline: each thread has a ring of `Depth` stages in shared memory, that nobody else uses. cp.async fills it
// Depth - 1 steps ahead, with what the thread itself takes out again: no barriers, and nothing in registers that waits.
// 8 warps with 4 columns and 4 stages have 48 KiB of B on the way.
//
// Memory traffic: one read of B, which is nearly all of it; A is read by each block, from the L2 cache.

#include "include/activation.cuh"
#include "include/mma.cuh"
#include "include/pack.cuh"

namespace cuda_kernels {

constexpr int kStep = 32;  // of k, that a warp takes at a time: 8 for each of 4 threads

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
  constexpr int width = 8 * Columns, threads = 32 * Warps;
  constexpr int slots = Columns + 2 * Rows;  // 16 bytes each, of B and then of A
  static_assert(Rows * 16 * width * 4 <= 32 * Depth * slots * 16, "room for the sums");
  extern __shared__ uint4 ring[];

  const int blocks = (n + width - 1) / width, number = blockIdx.x / blocks;
  const int first_n = blockIdx.x % blocks * width;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = lane / 4;  // of a fragment of A, or of 8 of B
  a += static_cast<long long>(number) * m * k;
  b += static_cast<long long>(number) * n * k;
  const bool packs = aligned(a, b) && k % 8 == 0;

  // Where the 8 elements of a slot of the ring come from, a part of a row of B or, after all of those, of A, and how
  // many of them there are.
  struct Source {
    const In* from;
    int left;
  };
  const auto source = [&](int slot, int k_at) {
    const bool is_b = slot < Columns;
    const int at = is_b ? first_n + slot * 8 + row : row + (slot - Columns) * 8;
    return Source{(is_b ? b : a) + static_cast<long long>(at) * k + k_at, at < (is_b ? n : m) ? k - k_at : 0};
  };
  const auto load = [&](int step) {
    const int k_at = (step * Warps + warp) * kStep + lane % 4 * 8;
    uint4* const to = ring + step % Depth * slots * threads + threadIdx.x;
#pragma unroll
    for (int slot = 0; slot < slots; ++slot) {
      const Source of = source(slot, k_at);
      copy_async(shared_address(to + slot * threads), of.from, of.left > 0 ? 16 : 0, packs);
    }
    if (packs) return;
#pragma unroll 1
    for (int slot = 0; slot < slots; ++slot) {
      const Source of = source(slot, k_at);
      to[slot * threads] = load_elements(of.from, of.left);
    }
  };

  float sums[Rows][Columns][4] = {};
  const int steps = (k + Warps * kStep - 1) / (Warps * kStep);
  for (int step = 0; step < Depth - 1; ++step) {
    if (step < steps) load(step);
    end_group();
  }
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    if (step + Depth - 1 < steps) load(step + Depth - 1);
    end_group();  // also of nothing: groups are counted
    wait_for_groups<Depth - 1>();
    const uint4* const from = ring + step % Depth * slots * threads + threadIdx.x;
    unsigned words[slots][4];
#pragma unroll
    for (int slot = 0; slot < slots; ++slot) {
      const uint4 bits = from[slot * threads];
      memcpy(words[slot], &bits, sizeof(bits));
    }
#pragma unroll
    for (int half = 0; half < 2; ++half)  // of the thread's 8 of k
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        const unsigned right[2] = {words[j][half * 2], words[j][half * 2 + 1]};
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
          const unsigned(&upper)[4] = words[Columns + 2 * i], (&lower)[4] = words[Columns + 2 * i + 1];
          const unsigned left[4] = {upper[half * 2], lower[half * 2], upper[half * 2 + 1], lower[half * 2 + 1]};
          multiply_add(In(), sums[i][j], left, right);
        }
      }
  }

  __syncthreads();  // the rings are used
  float* const parts = reinterpret_cast<float*>(ring);  // [Warps, 16 * Rows, width]
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Columns; ++j)
      for (int e = 0; e < 4; ++e) {
        const int at = j * 8 + lane % 4 * 2 + e % 2;
        parts[((warp * Rows + i) * 16 + e / 2 * 8 + row) * width + at] = sums[i][j][e];
      }
  __syncthreads();
  for (int unit = threadIdx.x; unit < 16 * Rows * width; unit += threads) {
    const int of_m = unit / width, of_n = first_n + unit % width;
    if (of_m >= m || of_n >= n) continue;
    float value = 0.0f;
#pragma unroll
    for (int w = 0; w < Warps; ++w) value += parts[w * 16 * Rows * width + unit];
    const long long at = (static_cast<long long>(number) * m + of_m) * n + of_n;
    if (bias != nullptr) value += static_cast<float>(bias[of_n]);
    if (residual != nullptr) value += static_cast<float>(residual[at]);
    c[at] = static_cast<Out>(Activation::template of<Out>(value));
  }
}

}  // namespace cuda_kernels
