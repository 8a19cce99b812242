// y = x W^T for one row of x and weights of 4 bits, to be included by quantised_4bit.cu: #include
// "include/quantised_row.cuh". The formats of weights are those of that file.
//
// A block has 16 or 32 rows of W, and a warp each Warps-th step of 256 of k, with a ring of its own: no warp waits for
// another before the last sums, and x, of which a warp needs only its own part, comes with the weights. (x in shared
// memory for the block is no gain: what is asked for behind the weights in flight waits for them.)
//
// A step of W as A of tensor cores is the words of memory just as they lie there, scales included, four of a row at a
// time by ldmatrix:
//
//   a row of Q4_0, bytes   |d d q q|q q q q|q q q q|q q q q|q q d d|q q q q| ...   d: the scale of 32 weights
//   the lane t that has it |   0   |   1   |   2   |   3   |   0   |   1   | ...   in lanes (g, t), rows g and g + 8
//
// B has a column for each of the 8 groups of a step: x where a word is of that group, and zeros elsewhere, so also
// where it is a scale. What lane (g, t) gets of the product is so of rows g and g + 8, groups 2 t and 2 t + 1, to be
// multiplied by their scales. Of a word one multiplication takes the low halves of bytes, and one the high halves.
#pragma once

#include "quantised.cuh"

namespace cuda_kernels {

// Begins a copy of 16 bytes that other blocks of this multiprocessor want, too.
__device__ __forceinline__ void copy_through_l1(unsigned to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

template <class Format, class T, int Tiles, int Warps, int Stages, bool IsRolled>
struct RowProduct {
  using Float = Bare<T>;
  static constexpr float kTooMuch = Float::kTooMuch + (Format::kHasMinimum ? 0.0f : 8.0f);
  static constexpr int kRows = 16 * Tiles;
  static constexpr int kUnits = Format::kBytes / 16;  // four words of a row each
  static constexpr int kWeightBytes = kRows * Format::kStride;
  static constexpr int kSlotBytes = kWeightBytes + 2 * kStep;
  static constexpr int kArrangedBytes = Format::kBytes * 4;  // 16 for each word: its x, as B of two multiplications
  static constexpr int kWarpBytes = Stages * kSlotBytes + kArrangedBytes;
  using Sums = float[Tiles][2];

  const Format& format;
  const T* __restrict__ x;
  int k;
  bool x_is_aligned;
  unsigned char* arranged;
  unsigned in_group;  // bit u: word 4 u + t is of group g

  __device__ __forceinline__ RowProduct(const Format& of, const T* from, int columns, unsigned char* to)
      : format(of), x(from), k(columns), x_is_aligned(aligned(from)), arranged(to), in_group(0) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int u = 0; u < kUnits; ++u) in_group |= static_cast<unsigned>(Format::group_of(4 * u + t) == g) << u;
  }

  __device__ __forceinline__ void fetch(unsigned char* slot, int first_row, int step) const {
    format.fetch(slot, first_row, step);
    const int lane = threadIdx.x % 32, at = step * kStep + 8 * lane;
    unsigned char* const to = slot + kWeightBytes + 16 * lane;
    if (x_is_aligned) {
      copy_async(shared_address(to), at < k ? x + at : x, at < k ? 16 : 0);
    } else {
      *reinterpret_cast<uint4*>(to) = load_elements(at < k ? x + at : x, at < k ? 8 : 0);
    }
  }

  // Of a step, adds up x for groups 2 t and 2 t + 1, and puts it where words of weights will look for it.
  __device__ __forceinline__ void arrange(uint4 part, float (&added)[2]) const {
    const int lane = threadIdx.x % 32, t = lane % 4;
    float values[8], sum = 0.0f;
    unpack<T>(part, values);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += values[i];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    sum *= 1.0f / Float::kUnit;
    added[0] = __shfl_sync(0xffffffffu, sum, 8 * t);
    added[1] = __shfl_sync(0xffffffffu, sum, 8 * t + 4);
    Format::arrange(arranged, part);
  }

  // Adds what a step comes to. What is past the end of k is zeros in the slot.
  __device__ __forceinline__ void multiply(const unsigned char* slot, const float (&added)[2], Sums& sums) const {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const unsigned matrices = shared_address(slot) + lane % 16 * Format::kStride + lane / 16 * 16;
    const unsigned char* const from = arranged + 16 * t;
    float low[Tiles][4] = {}, high[Tiles][4] = {};
#pragma unroll(IsRolled ? 1 : (kUnits + 1) / 2)
    for (int pair = 0; pair < (kUnits + 1) / 2; ++pair) {
      // Rows 0 to 7 and 8 to 15 of a unit, and of the next; past the last one lies something else that is unused.
      unsigned words[Tiles][4];
#pragma unroll
      for (int i = 0; i < Tiles; ++i) load_matrices(words[i], matrices + 16 * i * Format::kStride + 32 * pair);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int unit = 2 * pair + half;
        if (unit == kUnits) break;
        uint4 b = make_uint4(0, 0, 0, 0);
        if (in_group >> unit & 1) b = *reinterpret_cast<const uint4*>(from + 64 * unit);
        const unsigned low_b[2] = {b.x, b.y}, high_b[2] = {b.z, b.w};
#pragma unroll
        for (int i = 0; i < Tiles; ++i) {
          unsigned upper[2][2], lower[2][2];
          Float::expand(words[i][2 * half], upper[0], upper[1]);
          Float::expand(words[i][2 * half + 1], lower[0], lower[1]);
          const unsigned low_a[4] = {upper[0][0], lower[0][0], upper[0][1], lower[0][1]};
          const unsigned high_a[4] = {upper[1][0], lower[1][0], upper[1][1], lower[1][1]};
          multiply_add(T(), low[i], low_a, low_b);
          multiply_add(T(), high[i], high_a, high_b);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
#pragma unroll
      for (int h = 0; h < 4; ++h) {  // of c: rows g and g + 8, groups 2 t and 2 t + 1
        float scale, minimum = 0.0f;
        format.scales(T(), slot + (16 * i + g + h / 2 * 8) * Format::kStride, 2 * t + h % 2, scale, minimum);
        sums[i][h / 2] += scale * (Float::sum(low[i][h], high[i][h]) - kTooMuch * added[h % 2]);
        if constexpr (Format::kHasMinimum) sums[i][h / 2] += minimum * added[h % 2];
      }
    }
  }
};

template <class Format, class T, int Tiles, int Warps, int Stages, bool IsRolled>
__device__ __forceinline__ void product_of_row(const Format& format, const T* __restrict__ x, T* __restrict__ y, int n,
                                               int k) {
  using Work = RowProduct<Format, T, Tiles, Warps, Stages, IsRolled>;
  extern __shared__ __align__(16) unsigned char memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int first_row = blockIdx.x * Work::kRows, steps = (k + kStep - 1) / kStep;
  unsigned char* const ring = memory + warp * Work::kWarpBytes;
  float* const found = reinterpret_cast<float*>(memory + Warps * Work::kWarpBytes);
  const Work work(format, x, k, ring + Stages * Work::kSlotBytes);

  // Where everything is aligned and whole, a step is so many bytes after the one before.
  const bool is_plain =
      format.alignment % 16 == 0 && work.x_is_aligned && first_row + Work::kRows <= n && k % kStep == 0;
  const unsigned char* from = format.weights + static_cast<size_t>(first_row) * (k / kStep * Format::kBytes) +
                              warp * Format::kBytes;
  const T* of_x = x + warp * kStep + 8 * lane;
  const unsigned ring_address = shared_address(ring);
  int coming = warp;
  const auto fetch = [&](int slot) {
    if (coming < steps) {
      if (is_plain) {
        format.whole.copy(ring_address + slot * Work::kSlotBytes, from);
        copy_through_l1(ring_address + slot * Work::kSlotBytes + Work::kWeightBytes + 16 * lane, of_x);
      } else {
        work.fetch(ring + slot * Work::kSlotBytes, first_row, coming);
      }
    }
    coming += Warps, from += Warps * Format::kBytes, of_x += Warps * kStep;
    end_group();
  };
#pragma unroll
  for (int i = 0; i < Stages - 1; ++i) fetch(i);

  typename Work::Sums sums = {};
  int slot = 0;
#pragma unroll 1
  for (int step = warp; step < steps; step += Warps) {
    wait_for_groups<Stages - 2>();
    __syncwarp();
    const unsigned char* const here = ring + slot * Work::kSlotBytes;
    const uint4 part = *reinterpret_cast<const uint4*>(here + Work::kWeightBytes + 16 * lane);
    fetch(slot == 0 ? Stages - 1 : slot - 1);
    float added[2] = {};
    work.arrange(part, added);
    __syncwarp();
    work.multiply(here, added, sums);
    slot = slot == Stages - 1 ? 0 : slot + 1;
    __syncwarp();
  }

#pragma unroll
  for (int i = 0; i < 2 * Tiles; ++i) {
    float sum = sums[i / 2][i % 2];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    if (lane % 4 == 0) found[warp * Work::kRows + 8 * i + lane / 4] = sum;
  }
  __syncthreads();
  const int row = threadIdx.x;
  if (row < Work::kRows && first_row + row < n) {
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < Warps; ++w) sum += found[w * Work::kRows + row];
    y[first_row + row] = static_cast<T>(Bare<T>::kUnit * sum);
  }
}

}  // namespace cuda_kernels
