// Rows held in registers by groups of threads, to be included by kernels: #include "../include/row.cuh".
//
// A kernel that reduces a row and then writes a row as long (softmax, the normalisations) needs each
// element twice. Here the threads of a group keep the row in registers in between, so that memory
// sees one read and one write. The group is as large as the row needs, from 2 threads to the block, or to the
// `Blocks` blocks of a cluster; they work on as many rows as they have groups. A row that they cannot hold is processed
// in parts, and read again, from the caches, for each pass.
//
// Where all operands are whole packs of 16 bytes at aligned addresses, a row is made of these. Any other row of some length
// consists of whole packs, which are aligned in the result, and of edges, single elements before and behind them. An operand with
// a number for every column is out of step with most rows of odd length: it is read as two neighbouring packs, of which a shift
// leaves one; so that this stays in the row, its first and last whole packs are edges, too. Narrow rows share a warp. They, and rows
// that are out of step with the result, are made of elements.
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

// What a row is made of: aligned packs; packs, and an edge for each of 32 threads or more; or elements.
enum class Units { kPacks, kShifted, kElements };
constexpr int kElementsHeld = 8;

// One thread's part of a row, as it is in memory: 16-bit elements in packs take half the registers that
// floats do, so more blocks can load while others compute.
template <class T, int Values, Units Of>
struct Held {
  static constexpr int kUnit = kPack<T>, kUnits = Values / kPack<T>;
  using Unit = uint4;
  static_assert(Values % kPack<T> == 0, "whole packs");
  Unit units[kUnits];
  T edge;

  static __device__ __forceinline__ void unpack_unit(Unit unit, float* values) { unpack<T>(unit, values); }
  static __device__ __forceinline__ Unit packed_unit(const float* values) { return packed<T>(values); }

  // Called between two passes over them: without it the compiler unpacks once and keeps the floats.
  __device__ __forceinline__ void stay_packed() {
#pragma unroll
    for (Unit& pack : units) asm volatile("" : "+r"(pack.x), "+r"(pack.y), "+r"(pack.z), "+r"(pack.w));
  }
};

template <class T, int Values>
struct Held<T, Values, Units::kElements> {
  static constexpr int kUnit = 1, kUnits = kElementsHeld;
  using Unit = T;
  Unit units[kUnits];
  T edge;

  static __device__ __forceinline__ void unpack_unit(Unit unit, float* values) { *values = static_cast<float>(unit); }
  static __device__ __forceinline__ Unit packed_unit(const float* values) { return static_cast<T>(*values); }
  __device__ __forceinline__ void stay_packed() {}
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

template <class T, int Threads, int Values, int Blocks, Units Of>
struct Row {
  using Part = Held<T, Values, Of>;
  using Unit = typename Part::Unit;
  static constexpr bool kHasEdges = Of == Units::kShifted, kArePacks = Of != Units::kElements;
  // Elements of a unit; how many units a thread holds; how many of them are loaded together where others are held.
  static constexpr int kUnit = Part::kUnit, kUnits = Part::kUnits, kTogether = kArePacks ? 1 : kUnits;

  long long number, first;  // the row's, and that of its first element in the operand
  int columns;  // the row's length; 0 in groups past the last row
  int group;    // threads, a power of two
  int member;   // this thread's number in the group
  int head;     // elements before the first of the units
  int units;    // those that are no edges
  int edge;     // the position of this thread's edge, or -1

  // `y` is the result.
  __device__ __forceinline__ Row(int rows, int row_length, int group_threads, const T* y) {
    group = group_threads;
    int thread = threadIdx.x, together = blockIdx.x;
    if constexpr (Blocks > 1) {
      thread += blockIdx.x % Blocks * Threads;
      together /= Blocks;
    }
    member = thread & (group - 1);
    const int shift = 31 - __clz(group);
    number = static_cast<long long>(together) * (Blocks * Threads >> shift) + (thread >> shift);
    first = number * row_length;
    columns = number < rows ? row_length : 0;
    head = 0;
    edge = -1;
    units = columns / kUnit;
    if constexpr (kHasEdges) {
      head = min(before_aligned(y + first), columns);
      units = (columns - head) / kUnit;
      head += units > 0 ? kUnit : 0;
      units = max(units - 2, 0);
      const int inside = units * kUnit;
      if (member < columns - inside) edge = member < head ? member : member + inside;
    }
  }

  // The units that the group holds at once, from `start`, a unit's number, on.
  __device__ __forceinline__ int part() const { return group * kUnits; }

  // Whether the group holds the whole row, so that it need not be read again.
  __device__ __forceinline__ bool is_whole() const { return units <= part(); }

  // Whether the thread has an edge in the part from `start` on.
  __device__ __forceinline__ bool has_edge(int start) const { return kHasEdges && start == 0 && edge >= 0; }

  // A unit of an operand in step with the result.
  static __device__ __forceinline__ Unit load_unit(const T* __restrict__ from) {
    if constexpr (kArePacks) {
      return load_bits(from);
    } else {
      return *from;
    }
  }

  // This thread's part of `operand`, a row; undefined where it has nothing. All loads are issued before the first is used.
  __device__ __forceinline__ void load(const T* __restrict__ operand, int start, Part& held) const {
    const T* const from = operand + head + (start + member) * kUnit;
    const int left = units - start - member;
#pragma unroll
    for (int u = 0; u < kUnits; ++u)
      if (u * group < left) held.units[u] = load_unit(from + u * group * kUnit);
    if (has_edge(start)) held.edge = operand[edge];
  }

  // Adds another operand's part, rounded as it is stored.
  __device__ __forceinline__ void add(const T* __restrict__ operand, int start, Part& held) const {
    Part others;
    load(operand, start, others);
    const int left = units - start - member;
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      if (u * group >= left) continue;
      float values[kUnit], more[kUnit];
      Part::unpack_unit(held.units[u], values);
      Part::unpack_unit(others.units[u], more);
      for (int i = 0; i < kUnit; ++i) values[i] += more[i];
      held.units[u] = Part::packed_unit(values);
    }
    if (has_edge(start)) held.edge = static_cast<T>(static_cast<float>(held.edge) + static_cast<float>(others.edge));
  }

  // function(at, values, count, u) for this thread's units u and for its edge, whose u is kUnits; `at` is their position in the
  // row. Values that the function changes do not outlive it. What it needs of `operands` is loaded before.
  template <class Function, class... Operands>
  __device__ __forceinline__ void each(int start, const Part& held, Function function, Operands&... operands) const {
    const int left = units - start - member, at = head + (start + member) * kUnit;
#pragma unroll
    for (int few = 0; few < kUnits; few += kTogether) {
      (operands.load(start, few), ...);
#pragma unroll
      for (int u = few; u < few + kTogether; ++u) {
        if (u * group >= left) continue;
        float values[kUnit];
        Part::unpack_unit(held.units[u], values);
        function(at + u * group * kUnit, values, kUnit, u);
      }
    }
    if (has_edge(start)) {
      float value = static_cast<float>(held.edge);
      function(edge, &value, 1, kUnits);
    }
  }

  // Writes a unit or an edge of a row, in step with the result or not.
  __device__ __forceinline__ void write(T* __restrict__ operand, int at, const float* values, int count) const {
    if (count == 1) {
      operand[at] = static_cast<T>(values[0]);
    } else if (!kHasEdges || aligned(operand + at)) {
      store_pack(operand + at, values);
    } else {
      for (int i = 0; i < count; ++i) operand[at + i] = static_cast<T>(values[i]);
    }
  }

  // The same of the result.
  __device__ __forceinline__ void put(T* __restrict__ y, int at, const float* values, int count) const {
    if (count == 1) {
      y[at] = static_cast<T>(values[0]);
    } else {
      store_pack(y + at, values);
    }
  }

  // As the functions of these names above.
  template <int Turn = 0, class Value, class Reduce>
  __device__ __forceinline__ Value of_group(Value value, Reduce reduce) const {
    return cuda_kernels::of_group<Threads, Blocks, Turn>(value, group, reduce);
  }
  __device__ __forceinline__ void leave() const { leave_group<Threads, Blocks>(group); }
};

// function(row) with this thread's row, for a functor: NVRTC takes no generic lambdas. `are_aligned` says whether all operands are,
// and `in_step` whether the rows that are read are as far from an aligned address as the result.
template <class T, int Threads, int Values, int Blocks, class Function>
__device__ __forceinline__ void with_row(
    bool are_aligned, bool in_step, int rows, int columns, int group, const T* y, Function function) {
  group = min(group, Blocks * Threads);
  if (are_aligned && columns % kPack<T> == 0) {
    function(Row<T, Threads, Values, Blocks, Units::kPacks>(rows, columns, group, y));
  } else if (in_step && group >= 32) {
    function(Row<T, Threads, Values, Blocks, Units::kShifted>(rows, columns, group, y));
  } else {
    function(Row<T, Threads, Values, Blocks, Units::kElements>(rows, columns, group, y));
  }
}

// An operand with a number for every column, as weights are. What the thread's first `Wanted` packs need of it
// is loaded with the row, before that is reduced; the rest when it is used. Few rows have as many threads as
// they have packs, and nothing else that hides the time of loading. An absent operand (null) has `absent` everywhere.
template <class T, int Wanted, class Rows>
struct ColumnOperand {
  static constexpr bool kIsAligned = Rows::kArePacks && !Rows::kHasEdges;
  static constexpr int kEarly = kIsAligned ? Wanted : 0, kUnit = Rows::kUnit, kTogether = Rows::kTogether;
  using Unit = typename Rows::Unit;
  const Rows& row;
  const T* operand;
  Unit early[kEarly > 0 ? kEarly : 1], now[kTogether];
  T edge;

  __device__ __forceinline__ ColumnOperand(const Rows& of, const T* from, float absent) : row(of), operand(from) {
    float values[kUnit];
    for (float& value : values) value = absent;
    edge = static_cast<T>(absent);
    for (Unit& unit : early) unit = Rows::Part::packed_unit(values);
    for (Unit& unit : now) unit = early[0];
    if (operand == nullptr) return;
    get<kEarly>(0, 0, early);
    if (row.has_edge(0)) edge = operand[row.edge];
  }

  // Loads those of the thread's units from `u` on, of its part from `start` on.
  __device__ __forceinline__ void load(int start, int u) {
    if (u < kEarly && start == 0) {
      now[0] = early[u < kEarly ? u : 0];
    } else if (operand != nullptr) {
      get<kTogether>(start, u, now);
    }
  }

  static __device__ __forceinline__ Unit load_unit(const T* __restrict__ from) {
    if constexpr (Rows::kHasEdges) {
      return load_any(from);
    } else {
      return Rows::load_unit(from);
    }
  }

  template <int Count>
  __device__ __forceinline__ void get(int start, int few, Unit* units) const {
    const T* const from = operand + row.head + (start + row.member) * kUnit;
    const int left = row.units - start - row.member;
#pragma unroll
    for (int u = few; u < few + Count; ++u)
      if (u * row.group < left) units[u - few] = load_unit(from + u * row.group * kUnit);
  }

  // Those of unit u, which is loaded, or of the edge.
  __device__ __forceinline__ void values_of(int u, float (&values)[kUnit]) const {
    if (u == Rows::kUnits) {
      values[0] = static_cast<float>(edge);
    } else {
      Rows::Part::unpack_unit(now[u % kTogether], values);
    }
  }
};

}  // namespace cuda_kernels
