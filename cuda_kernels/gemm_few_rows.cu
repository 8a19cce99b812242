// C = act(A B + bias + residual) as in gemm_sm80.cu, where A has few rows, up to 16 * Rows. It is one pass over B
// then, and all there is to do is to have enough of B under way at any time.
//
// A block computes all rows of 8 * Columns columns of C. Its warps share k, 32 at a time in turn, and add their
// sums up in shared memory at the end. B goes to fragments of mma.sync (include/mma.cuh) without being moved
// between threads: a fragment wants of each thread pairs of k that are 8 apart, 4 bytes here and there, but a sum has no
// order. Whatever 16 of k a mma.sync takes, it is right if it takes the same of A and of B. So a thread takes 8
// neighbours of k, which are 16 bytes of a row of weights and of a row of A. Where B is [k, n], it takes `Columns`
// neighbours of n from each of 8 rows, and makes pairs of two rows.
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

template <class In, class Out, class Activation, bool IsWeights, int Rows, int Columns, int Warps, int Depth>
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
  static_assert(IsWeights || Columns == 4 || Columns == 8, "copies of 8 or 16 bytes");
  static_assert(Rows * 16 * width * 4 <= 32 * Depth * slots * 16, "room for the sums");
  extern __shared__ uint4 ring[];

  const int blocks = (n + width - 1) / width, number = blockIdx.x / blocks;
  const int first_n = blockIdx.x % blocks * width;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = lane / 4, column = lane / 4;  // of fragments of A and B
  a += static_cast<long long>(number) * m * k;
  b += static_cast<long long>(number) * n * k;
  const bool packs = aligned(a, b) && k % 8 == 0 && (IsWeights || n % Columns == 0);

  // The elements that go into a slot of the ring, and how many of them there are: 8 of k of a row of A or of
  // weights, or `Columns` of n.
  struct Source {
    const In* from;
    int left;
  };
  const auto of_a = [&](int k_at, int i) {
    const int of_m = row + i * 8;
    return Source{a + static_cast<long long>(of_m) * k + k_at, of_m < m ? k - k_at : 0};
  };
  const auto of_b = [&](int k_at, int i) {
    if constexpr (IsWeights) {
      const int of_n = first_n + i * 8 + column;
      return Source{b + static_cast<long long>(of_n) * k + k_at, of_n < n ? k - k_at : 0};
    } else {
      const int of_n = first_n + column * Columns;
      return Source{b + static_cast<long long>(k_at + i) * n + of_n, k_at + i < k ? n - of_n : 0};
    }
  };
  constexpr int parts_of_b = IsWeights ? Columns : 8, size_of_b = IsWeights ? 8 : Columns;
  const auto load = [&](int step) {
    const int k_at = (step * Warps + warp) * kStep + lane % 4 * 8;
    In* const to = reinterpret_cast<In*>(ring + step % Depth * slots * threads + threadIdx.x);
    const auto place = [&](int element) { return to + element / 8 * 8 * threads + element % 8; };
#pragma unroll
    for (int i = 0; i < parts_of_b; ++i) {
      const Source source = of_b(k_at, i);
      copy_async<size_of_b * 2>(shared_address(place(i * size_of_b)), source.from,
                                source.left > 0 ? size_of_b * 2 : 0, packs);
    }
#pragma unroll
    for (int i = 0; i < 2 * Rows; ++i) {
      const Source source = of_a(k_at, i);
      copy_async(shared_address(place((Columns + i) * 8)), source.from, source.left > 0 ? 16 : 0, packs);
    }
    if (packs) return;
#pragma unroll 1
    for (int element = 0; element < slots * 8; ++element) {
      const bool is_b = element < Columns * 8;
      const int part = is_b ? element / size_of_b : element / 8 - Columns;
      const int within = is_b ? element % size_of_b : element % 8;
      const Source source = is_b ? of_b(k_at, part) : of_a(k_at, part);
      *place(element) = within < source.left ? source.from[within] : static_cast<In>(0.0f);
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
        unsigned right[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int pair = half * 2 + i;
          if constexpr (IsWeights) {
            right[i] = words[j][pair];
          } else {  // element j of two rows of `Columns` elements
            const int one = pair * Columns + j / 2 % (Columns / 2), next = one + Columns / 2;
            right[i] = __byte_perm(words[one / 4][one % 4], words[next / 4][next % 4], j % 2 == 0 ? 0x5410 : 0x7632);
          }
        }
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
        const int of_tile = lane % 4 * 2 + e % 2, at = IsWeights ? j * 8 + of_tile : of_tile * Columns + j;
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
