// y = x W^T for one row of x and weights of 4 bits in groups, to be included by quantised_4bit.cu: #include
// "include/quantised_groups_row.cuh".
//
// Weights go from memory to registers, past the L1 cache, which so keeps x; there is no shared memory and no barrier
// before a block's last sums. What hides the way from memory is the number of warps.
//
// A warp takes 8 rows of W and 256 of k, 128 bytes of a row, with two loads of 4 rows, each lane 32 weights of a row,
// which share a scale. A's row g is the first or second half of that, of row g / 2; B has a column for each of the 8
// parts, which has x of it where A has its weights, and zeros elsewhere. So each lane gets the sum of its own weights:
//
//   lane (g, t): rows g / 2 and 4 + g / 2, part 4 (g % 2) + t    B: column 2 t + g % 2, from lane (2 t + g % 2, t)
#pragma once

#include "quantised.cuh"

namespace cuda_kernels {

// 16 bytes at an aligned address, that are needed once.
__device__ __forceinline__ uint4 load_once(const unsigned char* from) {
  uint4 bits;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(from));
  return bits;
}

// 16 bytes from any address.
__device__ __forceinline__ uint4 load_bytes(const unsigned char* from) {
  unsigned char bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = from[i];
  uint4 bits;
  memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

// What a lane has of a step: 32 weights of each of two rows, their scales and zeros, and, if it is the lane that gives
// it, x of them, else zeros.
template <class T>
struct GroupStep {
  uint4 weights[2], x[4];
  T scales[2], zeros[2];
};

// Adds what the step comes to for the lane's own weights, if there are any.
template <class T, bool HasZeros>
__device__ __forceinline__ void multiply_groups(const GroupStep<T>& step, bool second, float (&sums)[2],
                                                bool is_there = true) {
  float low[4] = {}, high[4] = {}, added[2][4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    // Of a word the low and the high halves of bytes 0 and 2, then of bytes 1 and 3.
    const uint4& x = step.x[i];
    const unsigned low_b[2] = {bytes_of<0x5410>(x.x, x.z), bytes_of<0x5410>(x.y, x.w)};
    const unsigned high_b[2] = {bytes_of<0x7632>(x.x, x.z), bytes_of<0x7632>(x.y, x.w)};
    const auto word = [i](const uint4& of) { return i == 0 ? of.x : i == 1 ? of.y : i == 2 ? of.z : of.w; };
    unsigned upper[4], lower[4];
    expand<!HasZeros>(T(), word(step.weights[0]), upper);
    expand<!HasZeros>(T(), word(step.weights[1]), lower);
    const unsigned low_a[4] = {upper[0], lower[0], upper[2], lower[2]};
    const unsigned high_a[4] = {upper[1], lower[1], upper[3], lower[3]};
    multiply_add(T(), low, low_a, low_b);
    multiply_add(T(), high, high_a, high_b);
    if constexpr (HasZeros) {
      const unsigned one = repeated<T>(1.0f).x, ones[4] = {one, one, one, one};
      multiply_add(T(), added[0], ones, low_b);
      multiply_add(T(), added[1], ones, high_b);
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float sum = second ? low[2 * i + 1] + high[2 * i + 1] : low[2 * i] + high[2 * i];
    if constexpr (HasZeros)
      sum -= static_cast<float>(step.zeros[i]) * (second ? added[0][1] + added[1][1] : added[0][0] + added[1][0]);
    sums[i] += is_there ? static_cast<float>(step.scales[i]) * sum : 0.0f;
  }
}

template <class T, bool HasZeros, int Warps>
__device__ __forceinline__ void product_of_groups(const T* __restrict__ x, const unsigned char* __restrict__ weight,
                                                  const T* __restrict__ scales, const T* __restrict__ zeros,
                                                  T* __restrict__ y, int n, int k, int groups) {
  constexpr int rows = 8;
  __shared__ float found[Warps][rows];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int first = blockIdx.x * rows, part = 4 * (g % 2) + t;
  const int parts = k / kGroup, steps = (parts + kGroups - 1) / kGroups;
  const bool gives_x = g / 2 == t;
  const unsigned char* from[2];
  size_t numbers[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const size_t row = min(first + 4 * i + g / 2, n - 1);
    from[i] = weight + row * (k / 2);
    numbers[i] = row * groups;
  }

  float sums[2] = {};
  const bool is_aligned = aligned(weight, x);
  if (!HasZeros && is_aligned && k % kStep == 0 && groups == parts) {
    // Nothing to look out for: every instruction less is time. With zeros the registers do not suffice for it.
    GroupStep<T> have = {};
    const int at = warp * kGroups + part;
    const T *of_x = x + at * kGroup, *of_scales[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) from[i] += 16 * at, of_scales[i] = scales + numbers[i] + at;
#pragma unroll 1
    for (int step = warp; step < steps; step += Warps) {
#pragma unroll
      for (int i = 0; i < 2; ++i) have.weights[i] = load_once(from[i]), from[i] += 16 * kGroups * Warps;
      if (gives_x) {
#pragma unroll
        for (int i = 0; i < 4; ++i) have.x[i] = load_bits(of_x + 8 * i);
      }
      of_x += kStep * Warps;
#pragma unroll
      for (int i = 0; i < 2; ++i) have.scales[i] = *of_scales[i], of_scales[i] += kGroups * Warps;
      multiply_groups<T, HasZeros>(have, g % 2 == 1, sums);
    }
  } else {
    const int size = parts / groups;
#pragma unroll 1
    for (int step = warp; step < steps; step += Warps) {
      const bool is_there = step * kGroups + part < parts;
      const int here = is_there ? step * kGroups + part : 0, number = size == 1 ? here : here / size;
      GroupStep<T> have = {};
      if (is_aligned) {
#pragma unroll
        for (int i = 0; i < 2; ++i) have.weights[i] = load_once(from[i] + 16 * here);
        if (gives_x && is_there) {
#pragma unroll
          for (int i = 0; i < 4; ++i) have.x[i] = load_bits(x + here * kGroup + 8 * i);
        }
      } else {
#pragma unroll
        for (int i = 0; i < 2; ++i) have.weights[i] = load_bytes(from[i] + 16 * here);
        if (gives_x && is_there) {
#pragma unroll
          for (int i = 0; i < 4; ++i) have.x[i] = load_elements(x + here * kGroup + 8 * i, 8);
        }
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        have.scales[i] = scales[numbers[i] + number];
        if constexpr (HasZeros) have.zeros[i] = zeros[numbers[i] + number];
      }
      multiply_groups<T, HasZeros>(have, g % 2 == 1, sums, is_there);
    }
  }

#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int away = 1; away < 8; away *= 2) sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], away);
    if (part == 0) found[warp][4 * i + g / 2] = sums[i];
  }
  __syncthreads();
  const int row = threadIdx.x;
  if (row < rows && first + row < n) {
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < Warps; ++w) sum += found[w][row];
    y[first + row] = static_cast<T>(sum);
  }
}

}  // namespace cuda_kernels
