// Rows held in registers by groups of threads, to be included by kernels: #include "../include/row.cuh".
//
// A kernel that reduces a row and then writes a row as long (softmax, the normalisations) needs each
// element twice. Here the threads of a group keep the row in registers in between, so that memory
// sees one read and one write. The group is as large as the row needs, from 2 threads to the block, or to the
// `Blocks` blocks of a cluster; they work on as many rows as they have groups. A row that they cannot hold is processed
// in parts, and read again, from the caches, for each pass.
//
// A row of any length at any address consists of whole packs of 16 bytes, which are aligned in the result, and of
// edges, single elements before and behind these. An operand that is out of step with the result, as the weight is in
// most rows of odd length, is read as two neighbouring packs, of which a shift leaves one; so that this stays in the row, its
// first and last whole packs are edges, too. `Plain` rows are whole aligned packs in all operands: they have code of their own, because
// the time of few rows is mostly that of fetching code.
#pragma once

#include "cluster.cuh"
#include "pack.cuh"
#include "warp.cuh"

namespace cuda_kernels {

// The minimum number of blocks per multiprocessor, for __launch_bounds__, so that it has `Wanted` threads, or 512 before
// Hopper: the compiler would use more registers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
template <int Threads, int Wanted>
constexpr int kResident = Threads <= 512 ? 512 / Threads : 1;
#else
template <int Threads, int Wanted>
constexpr int kResident = Threads <= Wanted ? Wanted / Threads : 1;
#endif

// One thread's part of a row, as it is in memory: 16-bit elements take half the registers that floats do, so more
// blocks can load while others compute.
template <class T, int Values>
struct Held {
  static constexpr int kPacks = Values / kPack<T>, kEdges = kPack<T> / 4;
  static_assert(Values % kPack<T> == 0, "whole packs");
  uint4 bits[kPacks];
  float edges[kEdges];  // fewer than four packs' elements, of at least 16 threads

  // Adds those of another operand, rounded as they are stored.
  __device__ __forceinline__ void add(const Held& other) {
    float some[kPack<T>], more[kPack<T>];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      unpack<T>(bits[p], some);
      unpack<T>(other.bits[p], more);
      for (int i = 0; i < kPack<T>; ++i) some[i] += more[i];
      bits[p] = packed<T>(some);
    }
    for (int e = 0; e < kEdges; ++e) edges[e] = static_cast<float>(static_cast<T>(edges[e] + other.edges[e]));
  }

  // Called between two passes over them: without it the compiler unpacks once and keeps the floats.
  __device__ __forceinline__ void stay_packed() {
#pragma unroll
    for (uint4& pack : bits) asm volatile("" : "+r"(pack.x), "+r"(pack.y), "+r"(pack.z), "+r"(pack.w));
  }
};

// What `reduce` makes of the values of a group's threads, in each of them: reduce(value, count) does it for `count`
// adjacent lanes, a power of two. All threads of the block must call it, once for each type and `Turn`, and `leave_group`
// at the end.
template <int Threads, int Blocks, int Turn, class Value, class Reduce>
__device__ __forceinline__ Value of_group(Value value, int group, Reduce reduce) {
  value = reduce(value, min(group, 32));
  if (group <= 32) return value;
  __shared__ Value of_warps[Threads / 32];
  const int in_block = min(group, Threads), warps = in_block / 32;
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = reduce(of_warps[(threadIdx.x & -in_block) / 32 + (threadIdx.x & (warps - 1))], warps);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (Blocks > 1) {
    if (group > Threads) {
      __shared__ Value of_block;
      if (threadIdx.x == 0) of_block = value;
      cluster_sync();
      const unsigned blocks = group / Threads, rank = blockIdx.x % Blocks;
      value = reduce(from_block(of_block, (rank & -blocks) + (threadIdx.x & (blocks - 1))), blocks);
      cluster_arrive();
    }
  }
#endif
  return value;
}

// A block of a cluster stays until the others have read what it shares.
template <int Threads, int Blocks>
__device__ __forceinline__ void leave_group(int group) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (Blocks > 1)
    if (group > Threads) cluster_wait();
#endif
}

template <class T, int Threads, int Values, int Blocks, bool Plain>
struct Row {
  using Part = Held<T, Values>;
  static constexpr bool kPlain = Plain;
  static constexpr int kPacks = Part::kPacks;

  long long number, first;  // the row's, and that of its first element in the operand
  int columns;  // the row's length; 0 in groups past the last row
  int group;    // threads, a power of two
  int member;   // this thread's number in the group
  int head;     // elements before the first of the packs
  int packs;    // those that are no edges
  int tail;     // elements behind the last one

  // Of the `turn`-th of `turns` rows that the group has. `y` is the result, whose packs are aligned.
  __device__ __forceinline__ Row(int rows, int row_length, int group_threads, const T* y, int turn, int turns) {
    group = group_threads;
    int thread = threadIdx.x, together = blockIdx.x;
    if constexpr (Blocks > 1) {
      thread += blockIdx.x % Blocks * Threads;
      together /= Blocks;
    }
    if constexpr (!Plain) together = together * turns + turn;
    member = thread & (group - 1);
    const int shift = 31 - __clz(group);
    number = static_cast<long long>(together) * (Blocks * Threads >> shift) + (thread >> shift);
    first = number * row_length;
    columns = number < rows ? row_length : 0;
    head = Plain ? 0 : min(before_aligned(y + first), columns);
    packs = (columns - head) / kPack<T>;
    if constexpr (!Plain) {
      head += packs > 0 ? kPack<T> : 0;
      packs = max(packs - 2, 0);
    }
    tail = Plain ? 0 : columns - head - packs * kPack<T>;
  }

  // The packs that the group holds at once, from `start`, a pack's number, on.
  __device__ __forceinline__ int part() const { return group * kPacks; }

  // Whether the group holds the whole row, so that it need not be read again.
  __device__ __forceinline__ bool is_whole() const { return packs <= part(); }

  // The position of this thread's e-th edge, or -1.
  __device__ __forceinline__ int edge(int start, int e) const {
    const int number = member + e * group;
    if (start > 0 || number >= head + tail) return -1;
    return number < head ? number : number + packs * kPack<T>;
  }

  __device__ __forceinline__ uint4 load_bits(const T* from) const {
    return Plain ? cuda_kernels::load_bits(from) : load_any(from);
  }

  // This thread's part of `operand`, a row; undefined where it has nothing. All loads are issued before the first is used.
  __device__ __forceinline__ void load(const T* __restrict__ operand, int start, Part& some) const {
    const T* const from = operand + head + (start + member) * kPack<T>;
    const int left = packs - start - member;
    if constexpr (!Plain) {
#pragma unroll
      for (int e = 0; e < some.kEdges; ++e) {
        some.edges[e] = 0.0f;
        if (const int at = edge(start, e); at >= 0) some.edges[e] = static_cast<float>(operand[at]);
      }
    }
    if (Plain || aligned(from)) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p)
        if (p * group < left) some.bits[p] = cuda_kernels::load_bits(from + p * group * kPack<T>);
    } else {
#pragma unroll
      for (int p = 0; p < kPacks; ++p)
        if (p * group < left) some.bits[p] = load_shifted(from + p * group * kPack<T>);
    }
  }

  // Adds another operand's part, rounded as it is stored.
  __device__ __forceinline__ void add(const T* __restrict__ operand, int start, Part& some) const {
    const auto sum = [](float a, float b) { return static_cast<float>(static_cast<T>(a + b)); };
    const T* const from = operand + head + (start + member) * kPack<T>;
    const int left = packs - start - member;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (p * group >= left) continue;
      float values[kPack<T>], more[kPack<T>];
      unpack<T>(some.bits[p], values);
      unpack<T>(load_bits(from + p * group * kPack<T>), more);
      for (int i = 0; i < kPack<T>; ++i) values[i] += more[i];
      some.bits[p] = packed<T>(values);
    }
#pragma unroll
    for (int e = 0; e < some.kEdges; ++e)
      if (const int at = edge(start, e); at >= 0) some.edges[e] = sum(some.edges[e], static_cast<float>(operand[at]));
  }

  // function(at, values, count, p) for this thread's packs p and for its edges, single elements, of which p is the number;
  // `at` is their position in the row. Values that the function changes do not outlive it.
  template <class Function>
  __device__ __forceinline__ void each(int start, const Part& some, Function function) const {
    const int left = packs - start - member, at = head + (start + member) * kPack<T>;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (p * group < left) {
        float values[kPack<T>];
        unpack<T>(some.bits[p], values);
        function(at + p * group * kPack<T>, values, kPack<T>, p);
      }
    }
    if constexpr (!Plain) {
#pragma unroll
      for (int e = 0; e < some.kEdges; ++e) {
        float value = some.edges[e];
        if (const int at = edge(start, e); at >= 0) function(at, &value, 1, e);
      }
    }
  }

  // Writes a pack or an edge of a row, in step with the result or not.
  __device__ __forceinline__ void write(T* __restrict__ operand, int at, const float* values, int count) const {
    if (count > 1 && (Plain || aligned(operand + at))) {
      store_pack(operand + at, values);
    } else {
      for (int i = 0; i < count; ++i) operand[at + i] = static_cast<T>(values[i]);
    }
  }

  // The same of the result.
  __device__ __forceinline__ void put(T* __restrict__ y, int at, const float* values, int count) const {
    if (count > 1) {
      store_pack(y + at, values);
    } else {
      y[at] = static_cast<T>(values[0]);
    }
  }

  // As the functions of these names above.
  template <int Turn = 0, class Value, class Reduce>
  __device__ __forceinline__ Value of_group(Value value, Reduce reduce) const {
    return cuda_kernels::of_group<Threads, Blocks, Turn>(value, group, reduce);
  }
  __device__ __forceinline__ void leave() const { leave_group<Threads, Blocks>(group); }
};

// function(row) with this thread's row, for a functor: NVRTC takes no generic lambdas. `is_aligned` says whether all operands are. Edges need a group of 16 threads:
// where a smaller one was launched, a larger one takes several rows in turn.
template <class T, int Threads, int Values, int Blocks, class Function>
__device__ __forceinline__ void with_row(
    bool is_aligned, int rows, int columns, int group, const T* y, Function function) {
  group = min(group, Blocks * Threads);
  if (is_aligned && columns % kPack<T> == 0) {
    function(Row<T, Threads, Values, Blocks, true>(rows, columns, group, y, 0, 1));
  } else {
    const int turns = group < 16 ? 16 / group : 1;
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn)
      function(Row<T, Threads, Values, Blocks, false>(rows, columns, group * turns, y, turn, turns));
  }
}

// An operand with a number for every column, as weights are. What the thread's first `Wanted` packs need of it
// is loaded with the row, before that is reduced; the rest when it is used. Few rows have as many threads as
// they have packs, and nothing else that hides the time of loading; edges have not. An absent operand (null) has `absent` everywhere.
template <class T, int Wanted, class Rows>
struct ColumnOperand {
  static constexpr int Early = Rows::kPlain ? Wanted : 0;
  const Rows& row;
  const T* operand;
  float absent;
  uint4 early[Early > 0 ? Early : 1];

  __device__ __forceinline__ ColumnOperand(const Rows& of, const T* from, float without)
      : row(of), operand(from), absent(without) {
    if (operand == nullptr) return;
    const T* const first = operand + row.head + row.member * kPack<T>;
#pragma unroll
    for (int p = 0; p < Early; ++p)
      if (p * row.group < row.packs - row.member) early[p] = row.load_bits(first + p * row.group * kPack<T>);
  }

  // Those of `count` columns from `at` on, which pack or edge `p` of the thread's part from `start` on has.
  __device__ __forceinline__ void get(int at, int start, int count, int p, float (&values)[kPack<T>]) const {
    for (float& value : values) value = absent;
    if (operand == nullptr) return;
    if (count == 1) {
      values[0] = static_cast<float>(operand[at]);
    } else if (p < Early && start == 0) {
      unpack<T>(early[p < Early ? p : 0], values);
    } else {
      unpack<T>(row.load_bits(operand + at), values);
    }
  }
};

}  // namespace cuda_kernels
