// Rows held in registers by groups of threads, to be included by kernels: #include "include/row.cuh".
//
// A kernel that reduces a row and then writes a row as long (softmax, the normalisations) needs each
// element twice. Here the threads of a group keep the row in registers in between, so that memory
// sees one read and one write. The group is as large as the row needs, from 8 threads to the block;
// a block works on as many rows as it has groups. A row that the whole block cannot hold is taken
// part by part, and read again, from the caches, for each pass.
#pragma once

#include "pack.cuh"

namespace cuda_kernels {

// What one thread has of its row: up to `Values` elements of each part.
//
// Neighbouring threads hold neighbouring packs of 16 bytes, or, where the row's address or length
// forbids packs, neighbouring elements. Either way all loads are issued before the first is used.
template <class T, int Threads, int Values>
struct Row {
  static constexpr int kPacks = Values / kPack<T>;
  static_assert(Values % kPack<T> == 0, "whole packs");

  long long first;  // the row's first element in the operand
  int columns;      // the row's length; 0 in groups past the last row
  int part;         // elements that the group holds at once
  int group;        // threads, a power of two
  int member;       // this thread's number in the group
  bool packs;       // whether the row is made of whole aligned packs

  __device__ __forceinline__ Row(int rows, int row_length, int group_threads, bool is_aligned) {
    group = group_threads;
    member = threadIdx.x & (group - 1);
    const long long row = static_cast<long long>(blockIdx.x) * (Threads / group) + threadIdx.x / group;
    first = row * row_length;
    columns = row < rows ? row_length : 0;
    part = group * Values;
    packs = is_aligned && row_length % kPack<T> == 0;
  }

  // Whether the row is held whole, so that it need not be read again.
  __device__ __forceinline__ bool is_whole() const { return columns <= part; }

  // How many of the thread's values, from the first on, are elements of the part from `start` on.
  __device__ __forceinline__ int held(int start) const {
    const int units = packs ? (columns - start) / kPack<T> : columns - start;
    const int mine = units > member ? (units - member - 1) / group + 1 : 0;
    return packs ? mine * kPack<T> : mine;
  }

  // This thread's elements of the part from `start` on; `absent` in place of what is past the end.
  __device__ __forceinline__ void load(const T* __restrict__ operand,
                                       int start,
                                       float (&values)[Values],
                                       float absent = 0.0f) const {
    const int count = held(start);
    if (packs) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        float* pack = values + p * kPack<T>;
        if (p * kPack<T> < count) {
          load_pack(operand + start + (p * group + member) * kPack<T>, pack);
        } else {
          for (int i = 0; i < kPack<T>; ++i) pack[i] = absent;
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < Values; ++i)
        values[i] = i < count ? static_cast<float>(operand[start + i * group + member]) : absent;
    }
  }

  // The opposite: write this thread's elements of the part.
  __device__ __forceinline__ void store(T* __restrict__ operand,
                                        int start,
                                        const float (&values)[Values]) const {
    const int count = held(start);
    if (packs) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p)
        if (p * kPack<T> < count)
          store_pack(operand + start + (p * group + member) * kPack<T>, values + p * kPack<T>);
    } else {
#pragma unroll
      for (int i = 0; i < Values; ++i)
        if (i < count) operand[start + i * group + member] = static_cast<T>(values[i]);
    }
  }
};

struct Sum {
  static constexpr float kNeutral = 0.0f;
  __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};

// Ignores NaN, as fmaxf does: who reduces with it lets NaN through by other means.
struct Maximum {
  static constexpr float kNeutral = -INFINITY;
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// `value` of a group's threads, combined, in each of them. All threads of the block must call it, and
// may call it again.
template <int Threads, class Combine>
__device__ __forceinline__ float reduce(float value, int group, Combine combine) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, distance);
    if (distance < group) value = combine(value, other);
  }
  if (group <= 32) return value;
  __shared__ float partial[Threads / 32];
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  const int warps = group / 32, first = threadIdx.x / group * warps;
  value = Combine::kNeutral;
  for (int warp = 0; warp < warps; ++warp) value = combine(value, partial[first + warp]);
  __syncthreads();
  return value;
}

}  // namespace cuda_kernels
