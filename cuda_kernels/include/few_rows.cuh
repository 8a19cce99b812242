// The mainloop of skinny products: up to 16 * Rows rows of A times some rows of weights, to be included by kernels: #include "../include/few_rows.cuh".
// The idea and the pipeline are in gemm_few_rows.cu.
#pragma once

#include "mma.cuh"
#include "pack.cuh"

namespace cuda_kernels {

// A row of weights. Of each 8 columns, the next one's begins where this one ends.
template <class In>
struct WeightsRow {
  const In* from;
  bool is_there;
};

// A block of `Warps` warps computes 8 * Columns columns of C.
template <int Rows, int Columns, int Warps, int Stages>
struct SkinnyMainloop {
  static constexpr int kStep = 32;  // of k per warp and step: 8 for each of 4 threads
  static constexpr int kWidth = 8 * Columns, kThreads = 32 * Warps;
  static constexpr int kSlots = Columns + 2 * Rows;  // 16 bytes each, of B and then of A
  static_assert(Rows * 16 * kWidth * 4 <= 32 * Stages * kSlots * 16, "room for the accumulators");

  // The accumulators of each warp, [Warps, 16 * Rows, kWidth], in shared memory, for all threads. `weights_of(column)` is
  // the WeightsRow of one of the block's columns.
  template <class In, class WeightsOf>
  static __device__ __forceinline__ const float* mainloop(const In* a, int m, int k, bool vectorised, WeightsOf weights_of) {
    extern __shared__ uint4 ring[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = lane / 4;  // of a fragment of A, or of 8 of B

    // The source of the 8 elements of a slot: how many of them are in bounds, and whether a row follows theirs. Slots of B
    // come before those of A.
    struct Source {
      const In* from;
      int left;
      bool has_next;
    };
    const auto source = [&](int slot, int k_at) {
      if (slot < Columns) {
        const WeightsRow<In> of = weights_of(slot * 8 + row);
        return Source{of.from + k_at, of.is_there ? k - k_at : 0, row < 7 && weights_of(slot * 8 + row + 1).is_there};
      }
      const int at = row + (slot - Columns) * 8;
      return Source{a + static_cast<long long>(at) * k + k_at, at < m ? k - k_at : 0, at + 1 < m};
    };
    const auto place = [&](int step) { return (step * Warps + warp) * kStep + lane % 4 * 8; };  // in k

    float accumulators[Rows][Columns][4] = {};
    const auto multiply = [&](const unsigned(&words)[kSlots][4]) {
#pragma unroll
      for (int half = 0; half < 2; ++half)  // of the thread's 8 of k
#pragma unroll
        for (int j = 0; j < Columns; ++j) {
          const unsigned right[2] = {words[j][half * 2], words[j][half * 2 + 1]};
#pragma unroll
          for (int i = 0; i < Rows; ++i) {
            const unsigned(&upper)[4] = words[Columns + 2 * i], (&lower)[4] = words[Columns + 2 * i + 1];
            const unsigned left[4] = {upper[half * 2], lower[half * 2], upper[half * 2 + 1], lower[half * 2 + 1]};
            mma(In(), accumulators[i][j], left, right);
          }
        }
    };
    const int steps = (k + Warps * kStep - 1) / (Warps * kStep);
    if (vectorised) {
      const auto load = [&](int step) {
        uint4* const to = ring + step % Stages * kSlots * kThreads + threadIdx.x;
#pragma unroll
        for (int slot = 0; slot < kSlots; ++slot) {
          const Source of = source(slot, place(step));
          cp_async(shared_address(to + slot * kThreads), of.from, of.left > 0 ? 16 : 0);
        }
      };
      for (int step = 0; step < Stages - 1; ++step) {
        if (step < steps) load(step);
        cp_async_commit();
      }
#pragma unroll 1
      for (int step = 0; step < steps; ++step) {
        if (step + Stages - 1 < steps) load(step + Stages - 1);
        cp_async_commit();  // an empty group too: groups are counted
        cp_async_wait<Stages - 1>();
        const uint4* const from = ring + step % Stages * kSlots * kThreads + threadIdx.x;
        unsigned words[kSlots][4];
#pragma unroll
        for (int slot = 0; slot < kSlots; ++slot) {
          const uint4 bits = from[slot * kThreads];
          memcpy(words[slot], &bits, sizeof(bits));
        }
        multiply(words);
      }
    } else {
      // Rows begin at any addresses: through registers, a step ahead. The two aligned 16 bytes that have an element's 8 are
      // read where what they have before and behind it is of rows, too.
      Shifted<In> pieces[kSlots];
      const auto is_inside = [&](const Source& of, int k_at) {
        return k >= 16 && (k_at > 0 || row > 0) && (of.left >= 16 || of.has_next);
      };
      const auto load = [&](int k_at) {
#pragma unroll
        for (int slot = 0; slot < kSlots; ++slot) {
          const Source of = source(slot, k_at);
          if (of.left > 0 && is_inside(of, k_at)) pieces[slot] = Shifted<In>(of.from, Array::of_all());
        }
      };
      load(place(0));
#pragma unroll 1
      for (int step = 0; step < steps; ++step) {
        const int k_at = place(step);
        unsigned words[kSlots][4];
#pragma unroll
        for (int slot = 0; slot < kSlots; ++slot) {
          const Source of = source(slot, k_at);
          uint4 bits{};
          if (of.left > 0)
            bits = is_inside(of, k_at) ? pieces[slot].value(of.from, of.left, Array::of_all()) : one_by_one(of.from, of.left);
          memcpy(words[slot], &bits, sizeof(bits));
        }
        load(place(step + 1));
        multiply(words);
      }
    }

    __syncthreads();  // the stages are no longer needed
    float* const parts = reinterpret_cast<float*>(ring);
    for (int i = 0; i < Rows; ++i)
      for (int j = 0; j < Columns; ++j)
        for (int e = 0; e < 4; ++e) {
          const int at = j * 8 + lane % 4 * 2 + e % 2;
          parts[((warp * Rows + i) * 16 + e / 2 * 8 + row) * kWidth + at] = accumulators[i][j][e];
        }
    __syncthreads();
    return parts;
  }

  // One element of the product, reduced over the warps.
  static __device__ __forceinline__ float sum_of(const float* parts, int row, int column) {
    float value = 0.0f;
#pragma unroll
    for (int w = 0; w < Warps; ++w) value += parts[(w * 16 * Rows + row) * kWidth + column];
    return value;
  }
};

}  // namespace cuda_kernels
