// Rows held in registers by groups of threads, to be included by kernels: #include "../include/row.cuh".
//
// A kernel that reduces a row and then writes a row as long (softmax, the normalisations) needs each
// element twice. Here the threads of a group keep the row in registers in between, so that memory
// sees one read and one write. The group is as large as the row needs, from 8 threads to the block;
// a block works on as many rows as it has groups. A row that the whole block cannot hold is processed
// in parts, and read again, from the caches, for each pass.
#pragma once

#include "pack.cuh"
#include "warp.cuh"

namespace cuda_kernels {

// The minimum number of blocks per multiprocessor, for __launch_bounds__: 80 registers per thread, 128 on sm_80, are enough
// for 32 elements and the loads in flight; the compiler would use more.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr int kResidentThreads = 512;
#else
constexpr int kResidentThreads = 768;
#endif
template <class T, int Threads, int Values>
constexpr int kResident = sizeof(T) == 2 && Values <= 32 && Threads <= kResidentThreads
                              ? kResidentThreads / Threads
                              : 1;

// A compile-time number as an argument.
template <int Number>
struct Size {};

// A function that writes some of a row's elements.
template <class T>
struct Store {
  T* operand;
  template <int Count>
  __device__ __forceinline__ void operator()(int at, const float* some, Size<Count>) const {
    store_some<Count>(operand + at, some);
  }
};

// Up to `Values` elements of a row, in 16-byte packs as in memory: 16-bit elements take half the
// registers that floats do, so more blocks can load while others compute.
template <class T, int Values>
struct Held {
  static constexpr int kPacks = Values / kPack<T>;
  uint4 bits[kPacks];

  __device__ __forceinline__ void unpack(int pack, float (&values)[kPack<T>]) const {
    cuda_kernels::unpack<T>(bits[pack], values);
  }

  // Called between two passes over them: without it the compiler unpacks once and keeps the floats.
  __device__ __forceinline__ void stay_packed() {
#pragma unroll
    for (uint4& pack : bits) asm volatile("" : "+r"(pack.x), "+r"(pack.y), "+r"(pack.z), "+r"(pack.w));
  }
};

// One thread's elements of its row: up to `Values` of each part.
//
// Neighbouring threads hold neighbouring packs of 16 bytes, or, where the row's address or length
// does not allow packs, neighbouring elements. Either way all loads are issued before the first is used.
template <class T, int Threads, int Values>
struct Row {
  static constexpr int kPacks = Values / kPack<T>;
  static_assert(Values % kPack<T> == 0, "whole packs");

  long long first;  // the row's first element in the operand
  int columns;      // the row's length; 0 in groups past the last row
  int part;         // the number of elements that the group holds at once
  int group;        // threads, a power of two
  int member;       // this thread's number in the group
  bool packs;       // whether the row consists of whole aligned packs

  __device__ __forceinline__ Row(int rows, int row_length, int group_threads, bool is_aligned) {
    group = group_threads;
    member = threadIdx.x & (group - 1);
    const long long row = static_cast<long long>(blockIdx.x) * (Threads / group) + threadIdx.x / group;
    first = row * row_length;
    columns = row < rows ? row_length : 0;
    part = group * Values;
    packs = is_aligned && row_length % kPack<T> == 0;
  }

  // Whether the group holds the whole row, so that it need not be read again.
  __device__ __forceinline__ bool is_whole() const { return columns <= part; }

  // How many elements of the row the thread has from `start` on; its values are the first of them.
  __device__ __forceinline__ int held(int start) const {
    const int units = packs ? (columns - start) / kPack<T> : columns - start;
    const int mine = units > member ? (units - member - 1) / group + 1 : 0;
    return packs ? mine * kPack<T> : mine;
  }

  // How many elements of the part from `start` on this thread's warp has, for a row of packs.
  __device__ __forceinline__ int held_by_warp(int start) const {
    const int units = (columns - start) / kPack<T>, threads = min(group, 32);
    const int turns = max(units, 0) >> (31 - __clz(group));
    const int more = max(units - turns * group - (member & -threads), 0);
    return (turns >= kPacks ? kPacks * threads : turns * threads + min(more, threads)) * kPack<T>;
  }

  // This thread's elements of the part from `start` on; `absent` for those past the end.
  __device__ __forceinline__ void load(const T* __restrict__ operand,
                                       int start,
                                       float (&values)[Values],
                                       float absent = 0.0f) const {
    const int count = held(start);
    if (packs) {
      // Load all bits first: converting each pack at once would wait for its load at once.
      uint4 bits[kPacks];
      const uint4 none = repeated<T>(absent);
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        bits[p] = none;
        if (p * kPack<T> < count) bits[p] = load_bits(operand + start + (p * group + member) * kPack<T>);
      }
#pragma unroll
      for (int p = 0; p < kPacks; ++p) unpack<T>(bits[p], values + p * kPack<T>);
    } else {
#pragma unroll
      for (int i = 0; i < Values; ++i)
        values[i] = i < count ? static_cast<float>(operand[start + i * group + member]) : absent;
    }
  }

  // The same for rows of packs, not converted; zeros past the end.
  __device__ __forceinline__ void load(const T* __restrict__ operand, int start, Held<T, Values>& some) const {
    const int count = held(start);
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      some.bits[p] = make_uint4(0, 0, 0, 0);
      if (p * kPack<T> < count) some.bits[p] = load_bits(operand + start + (p * group + member) * kPack<T>);
    }
  }

  // Stores them.
  __device__ __forceinline__ void store(T* __restrict__ operand, int start, const Held<T, Values>& some) const {
    const int count = held(start);
#pragma unroll
    for (int p = 0; p < kPacks; ++p)
      if (p * kPack<T> < count)
        *reinterpret_cast<uint4*>(operand + start + (p * group + member) * kPack<T>) = some.bits[p];
  }

  // function(at, values, Size) for this thread's elements of the part, by packs or one by one; `at` is their
  // position in the row. Values that the function loads do not outlive it.
  template <class Function>
  __device__ __forceinline__ void each(int start, float (&values)[Values], Function function) const {
    const int count = held(start);
    if (packs) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p)
        if (p * kPack<T> < count)
          function(start + (p * group + member) * kPack<T>, values + p * kPack<T>, Size<kPack<T>>());
    } else {
#pragma unroll
      for (int i = 0; i < Values; ++i)
        if (i < count) function(start + i * group + member, values + i, Size<1>());
    }
  }

  template <class Function>
  __device__ __forceinline__ void each(int start, const Held<T, Values>& some, Function function) const {
    const int count = held(start);
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      float values[kPack<T>];
      some.unpack(p, values);
      if (p * kPack<T> < count) function(start + (p * group + member) * kPack<T>, values, Size<kPack<T>>());
    }
  }

  // use(at, load(at)) for this thread's elements of the row, whatever its address and length. Loads are issued by
  // `Batch` before the first is used.
  template <int Batch, class Load, class Use>
  __device__ __forceinline__ void each_element(Load load, Use use) const {
    for (int first = member; first < columns; first += Batch * group) {
      float some[Batch];
#pragma unroll
      for (int i = 0; i < Batch; ++i) some[i] = first + i * group < columns ? load(first + i * group) : 0.0f;
#pragma unroll
      for (int i = 0; i < Batch; ++i)
        if (first + i * group < columns) use(first + i * group, some[i]);
    }
  }

  // Write this thread's elements of the part.
  __device__ __forceinline__ void store(T* __restrict__ operand, int start, float (&values)[Values]) const {
    each(start, values, Store<T>{operand});
  }
};

// Shares the values of a group's warps with all of its threads: every warp writes its own into `shared`, and
// thread i reads that of warp i, modulo the number of warps. All threads of the block must call it, and each
// call needs its own shared memory.
template <class Value>
__device__ __forceinline__ Value across_warps(Value value, int group, Value* shared) {
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  const int warps = group / 32;
  return shared[threadIdx.x / group * warps + (threadIdx.x & (warps - 1))];
}

// The sum of `value` over a group, in each of its threads. All threads of the block must call it, once.
template <int Threads>
__device__ __forceinline__ float sum_of_group(float value, int group) {
  value = sum_of(value, group);
  if (group <= 32) return value;
  __shared__ float partial[Threads / 32];
  return sum_of(across_warps(value, group, partial), group / 32);
}

}  // namespace cuda_kernels
