// C = act(A B + bias + residual) for A [batch, m, k] and B [batch, k, n] of f32, multiplied in TF32 on the tensor cores of
// sm_90a. Bias [n] and residual [batch, m, n] may each be absent (null). Weights [n, k] are for gemm_sm90a.cu.
//
// wgmma reads TF32 from shared memory along k alone, and the rows of B are across. So C is computed transposed: wgmma's 64
// rows are columns of C, and their B comes from registers, where each thread puts what it reads from the stage; A lies
// along k as its right operand.
//
//   global memory                   shared memory                            registers
//    A, B  --- one thread, TMA ---> Stages: 32 of k of a tile
//              rounds to TF32       | A TileM x 64 | B 32 x 128 | --- ld.shared, B ---> two stages of 4 x 4
//                                          `--------------------------- wgmma --------> 64 x TileM of C for a warpgroup
//    C  <--- 32 bytes of a row by 8 threads ---------------------------------------- epilogue
//
// Persistent and warp-specialised as gemm_sm90a.cu, cooperative: each of two consumer warpgroups has 64 columns of C. While
// the products of a stage run, the warpgroup loads B of the next.
//
// Memory traffic: (TileM + 128) * 128 bytes from the L2 cache for 2 * TileM * 128 * 32 operations.

#include "../include/wgmma_registers.cuh"
#include "gemm_sm90a.cu"  // the tile scheduler, and how registers are shared out

namespace cuda_kernels {

template <class Activation, int TileM, int Stages, class... Numbers>
__global__ void __launch_bounds__(kGemmThreads, 1) gemm_tf32_sm90a(const float* __restrict__ a,
                                                                   const float* __restrict__ b,
                                                                   const float* __restrict__ bias,
                                                                   const float* __restrict__ residual,
                                                                   float* __restrict__ c,
                                                                   int batch,
                                                                   int m,
                                                                   int n,
                                                                   int k,
                                                                   Numbers... numbers) {
  constexpr int width = 64 * kConsumers, step = kStageK<float>;  // columns of a tile; k of a stage
  struct Storage {
    Pipeline<TileM, width, Stages, kConsumers> pipeline;
    TileScheduler<TileM, width, 1> tiles;
  };
  auto& memory = dynamic_shared_memory<Storage>();
  auto& pipeline = memory.pipeline;
  const bool uses_tma = pipeline.template can_use_tma<float, false>(a, b, n, k);
  if (threadIdx.x == 96) pipeline.template initialise<1, 128>(uses_tma, m);
  if (threadIdx.x == 128) memory.tiles = TileScheduler<TileM, width, 1>(batch, m, n);
  if (threadIdx.x / 32 < 2 && uses_tma)
    pipeline.template make_maps<float, false, 1>(threadIdx.x / 32, a, b, batch, m, n, k);
  __syncthreads();

  const auto& tiles = memory.tiles;
  const int first = blockIdx.x, stride = gridDim.x;
  const int steps = max(1, (k + step - 1) / step);         // one of zeros, if k is 0
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);  // known to be uniform in the warp
  PipelineState<Stages> state;
  int matrix, row, column;

  if (warp < 4) {
    deallocate_registers<40>();
    if (!uses_tma) {
      for (int index = first; index < tiles.count; index += stride) {
        tiles.place(index, 0, matrix, row, column);
        for (int i = 0; i < steps; ++i, state.advance()) {
          wait(&pipeline.empty[state.stage], state.phase ^ 1);
          pipeline.template load_stage<float, false, 128>(
              threadIdx.x, state.stage, a + static_cast<long long>(matrix) * m * k,
              b + static_cast<long long>(matrix) * n * k, m, n, k, row, column, i * step);
        }
      }
    } else if (threadIdx.x == 0) {
      const auto source = pipeline.source();
      for (int index = first; index < tiles.count; index += stride) {
        tiles.place(index, 0, matrix, row, column);
        for (int i = 0; i < steps; ++i, state.advance()) {
          wait(&pipeline.empty[state.stage], state.phase ^ 1);
          pipeline.template tma_load_stage<false, 1, step>(source, state.stage, matrix, row, column, i * step, 0);
        }
      }
    }
  } else {
    allocate_registers<232>();
    const int group = warp / 4 - 1, thread = threadIdx.x % 128, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    // Columns g and g + 8 of the warp's 16 lie in one box of 32, at rows t and t + 4 of each 8 of k. Odd lanes read the
    // latter first: so the four rows that a load reads are in different banks.
    const int own = group * 64 + warp % 4 * 16 + g;
    const bool odd = t % 2 != 0;
    // The place of column g in the row that is read first. Because of the swizzle, the other row, and 8 columns further, are
    // other bits of it.
    const int of_k = odd ? t + 4 : t;
    const unsigned place = own / 32 * (step * 128) + of_k * 128 + ((own % 32 / 4 ^ of_k) * 16) + own % 4 * 4;
    constexpr unsigned other_row = 4 * 128 + 4 * 16, columns_further = 2 * 16;
    const auto load = [&](unsigned (&to)[step / 8][4], int stage) {
      const unsigned from = shared_address(pipeline.b[stage]) + place;
#pragma unroll
      for (int j = 0; j < step / 8; ++j)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          unsigned both[2];
#pragma unroll
          for (int e = 0; e < 2; ++e)
            asm volatile("ld.shared.u32 %0, [%1];"
                         : "=r"(both[e])
                         : "r"((from ^ (e * other_row | h * columns_further)) + j * 8 * 128)
                         : "memory");
          to[j][h] = odd ? both[1] : both[0], to[j][2 + h] = odd ? both[0] : both[1];
        }
    };
    for (int index = first; index < tiles.count; index += stride) {
      float sums[TileM / 2];
      unsigned fragments[2][step / 8][4];
      wait(&pipeline.full[state.stage], state.phase);
      load(fragments[0], state.stage);
      const auto multiply = [&](int which, bool is_first, bool is_last) {
        const int stage = state.stage;
        const unsigned long long right = descriptor_k_major(pipeline.a[stage]);
        warpgroup_arrive();
#pragma unroll
        for (int j = 0; j < step / 8; ++j)
          wgmma_tf32_from_registers<TileM>(sums, fragments[which][j], right + j * 2, !is_first || j > 0);
        warpgroup_commit();
        state.advance();
        if (!is_last) {
          wait(&pipeline.full[state.stage], state.phase);
          load(fragments[1 - which], state.stage);
        }
        warpgroup_wait<0>();
        if (thread == 0) arrive(&pipeline.empty[stage]);
      };
      for (int i = 0; i < steps; i += 2) {
        multiply(0, i == 0, i + 1 >= steps);
        if (i + 1 < steps) multiply(1, false, i + 2 >= steps);
      }
      fence_registers(sums);
      const Activation activation{numbers...};
      tiles.place(index, 0, matrix, row, column);
      const long long before = static_cast<long long>(matrix) * m;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int of_n = column + own + h * 8;
        const float added = bias != nullptr && of_n < n ? bias[of_n] : 0.0f;
#pragma unroll
        for (int i = 0; i < TileM / 4; ++i) {
          const int of_m = row + i / 2 * 8 + t * 2 + i % 2;
          if (of_m >= m || of_n >= n) continue;
          const long long at = (before + of_m) * n + of_n;
          float value = sums[i / 2 * 4 + h * 2 + i % 2] + added;
          if (residual != nullptr) value = activation.joined(value, residual[at], of_n);
          c[at] = activation.template of<float>(value, of_n);
        }
      }
    }
  }
  __syncthreads();
  pipeline.give_back_maps();
}

}  // namespace cuda_kernels
