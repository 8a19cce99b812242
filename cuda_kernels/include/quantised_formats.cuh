// Memory layouts of quantised weights, and how they become operand A of tensor cores; to be included by kernels for many
// rows of x: #include "../include/quantised_formats.cuh". quantised_many.cuh is the kernels' common part.
//
// A step is 64 of k of a row of W, and 128 bytes of a row of x. A layout says which bytes of a row a step needs, and what
// they are: a lane (g, t) has two of each 8 of k, 2t and 2t + 1, of the rows g and g + 8, as the instructions want them.
// So x stays as it is in memory. Weights are rounded once, to the type of x, after they are multiplied by their scale:
//
//   Groups4       4-bit integers, scales and perhaps zeros of groups in arrays of their own
//   Q4, Q8, Q4K   blocks of GGUF
//   quantised_eights.cuh:
//   Eights        e4m3 or 8-bit integers, a scale for each equal part of the rows: in f32, of sums
//   EightBlocks   e4m3, a scale for each 128 x 128 weights
//   EightGroups   8-bit integers, scales of groups in f32
//
// A stage has 1 or 4 steps of rows of W. A layout has row<Steps>(), how a row of a stage is cut and placed in shared memory,
// offset<Steps>(stage, unit), the place of a piece in a row of W, and
//   start(operands, row, step)      for the lane's rows `row` and `row` + 8, from a step on;
//   request()                       loads the scales of the next step, which `fragments` will need;
//   skip<Count>()                   leaves out so many steps;
//   fragments<Steps>(from, step, half, t, a)
//                                   A of two MMAs, 32 of k of a step of a stage, from the lane's first row in shared memory.
// A layout that kHasNumbers has scales, and perhaps zeros, of groups: in stages of 4 steps up to 8 of each follow a row's
// weights, begin_stage() comes before each of these stages, and there are no request() and skip().
#pragma once

#include "quantised_pairs.cuh"

namespace cuda_kernels {

constexpr int kStepK = 64;

// `units` pieces of `unit` bytes, and `pitch` bytes from row to row. Where rows are whole blocks of 256 of k, pitches are
// odd multiples of 16 bytes: eight rows are in different banks.
struct StageRow {
  int unit, units, pitch;
};

// What a kernel has of W.
template <class T, class Scale>
struct QuantisedWeights {
  const unsigned char* bytes;
  const Scale* scales;
  const T* zeros;
  int n, k, parts;  // parts: groups of a row, or parts of the rows with a scale
};

// The group of 32 of k that comes next, if `per` of them share a scale.
struct GroupCounter {
  int per, group, position;
  __device__ __forceinline__ void start(int of, int step) {
    per = of, group = 2 * step / per, position = 2 * step % per;
  }
  __device__ __forceinline__ void advance() {
    if (++position == per) position = 0, ++group;
  }
};

// The groups of a row from a step on. In a stage of 4 steps, numbers follow a row's weights, and `first` is the first one's.
struct RowGroups {
  GroupCounter counter;
  int last, first, start_of_stage, inverse;  // the place of a stage's start in its group, and 2^16 / the places of a group

  __device__ __forceinline__ void start(int size, int groups, int step) {
    counter.start(size, step), last = groups - 1;
    inverse = 65536 / min(size, 8) + 1;
  }
  __device__ __forceinline__ int next() {
    const int group = min(counter.group, last);
    counter.advance();
    return group;
  }
  // Of groups of more than a stage, only the places before its end count, as if they were groups of a stage.
  __device__ __forceinline__ void begin_stage() {
    const int size = counter.per, more = counter.position + 8;
    first = min(counter.group, last);
    start_of_stage = size < 8 ? counter.position : max(more - size, 0);
    const int passed = size < 8 ? from_first(8) : more >= size;
    counter.group += passed, counter.position = more - passed * size;
  }
  // From the first group of a stage to that of its 32 of k with this number. Past the end of k, numbers are zeros.
  __device__ __forceinline__ int from_first(int block) const { return (start_of_stage + block) * inverse >> 16; }
};

template <class T, bool HasZeros>
struct Groups4 {
  using Element = T;
  using Weights = QuantisedWeights<T, T>;
  static constexpr bool kScalesRows = false, kHasNumbers = true, kHasZeros = HasZeros;
  template <int Steps>
  static __device__ constexpr StageRow row() {
    return {16, 2 * Steps, Steps == 1 ? 32 : HasZeros ? 176 : 144};
  }
  static __device__ __forceinline__ size_t row_bytes(const Weights& of) { return of.k / 2; }
  template <int Steps>
  static __device__ __forceinline__ size_t offset(int stage, int unit) {
    return static_cast<size_t>(stage) * (32 * Steps) + 16 * unit;
  }

  unsigned short scale[2][2], zero[2][2];  // of each half of a step, of two rows
  const unsigned short *scales, *zeros;    // of the first row
  int apart;
  RowGroups groups;
  unsigned parity[2], before[2];  // of two rows, 2: an odd place of scales, 4: of zeros; at the row's start and the stage's

  __device__ __forceinline__ void start(const Weights& of, int row, int step) {
    groups.start(of.k / 32 / of.parts, of.parts, step);
    row = min(row, of.n - 1), apart = min(8, of.n - 1 - row) * of.parts;
    const size_t at = static_cast<size_t>(row) * of.parts;
    scales = reinterpret_cast<const unsigned short*>(of.scales) + at;
    if constexpr (HasZeros) zeros = reinterpret_cast<const unsigned short*>(of.zeros) + at;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      parity[i] = reinterpret_cast<unsigned long long>(scales + i * apart) & 2;
      if constexpr (HasZeros) parity[i] |= (reinterpret_cast<unsigned long long>(zeros + i * apart) & 2) << 1;
    }
  }

  // In a stage, numbers are from the word on that has the first one, if several 32 of k share one.
  __device__ __forceinline__ void begin_stage() {
    groups.begin_stage();
#pragma unroll
    for (int i = 0; i < 2; ++i) before[i] = groups.counter.per == 1 ? 0 : groups.first % 2 == 0 ? parity[i] : parity[i] ^ 6;
  }

  __device__ __forceinline__ void request() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = groups.next();
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        scale[half][i] = __ldg(scales + at + i * apart);
        if constexpr (HasZeros) zero[half][i] = __ldg(zeros + at + i * apart);
      }
    }
  }

  // Of 8 of k, byte t has a lane's two. They go behind 1024 or 128, which is then subtracted exactly.
  template <int Steps>
  __device__ __forceinline__ void fragments(const unsigned char* from, int step, int half, int t,
                                            unsigned (&a)[2][4]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned char* const here = from + 8 * i * row<Steps>().pitch;
      unsigned factor, minus = 0;
      if constexpr (Steps == 1) {
        factor = twice(half == 0 ? scale[0][i] : scale[1][i]);
        if constexpr (HasZeros) minus = twice(half == 0 ? zero[0][i] : zero[1][i]);
      } else {
        const unsigned char* const numbers = here + 32 * Steps + 2 * groups.from_first(2 * step + half);
        factor = twice(short_at(numbers + (before[i] & 2)));
        if constexpr (HasZeros) minus = twice(short_at(numbers + 16 + (before[i] >> 1 & 2)));
      }
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        unsigned pair = centred_pair<T, HasZeros ? 0 : 8>(here[32 * step + 16 * half + 4 * c + t] * 0x1001u);
        if constexpr (HasZeros) pair = Two<T>::sub(pair, minus);
        a[c / 2][2 * (c % 2) + i] = Two<T>::mul(pair, factor);
      }
    }
  }
};

// Q4_0, and with a minimum Q4_1. Byte i of a block has elements i and 16 + i.
template <class T, bool HasMinimum>
struct Q4 {
  using Element = T;
  using Weights = QuantisedWeights<T, unsigned char>;
  static constexpr int kBlock = HasMinimum ? 20 : 18;
  static constexpr bool kScalesRows = false, kHasNumbers = false;
  template <int Steps>
  static __device__ constexpr StageRow row() {
    if (Steps == 1) return {4, 2 * kBlock / 4, 2 * kBlock};
    return {16, 8 * kBlock / 16, HasMinimum ? 176 : 144};
  }
  static __device__ __forceinline__ size_t row_bytes(const Weights& of) { return static_cast<size_t>(of.k / 32) * kBlock; }
  template <int Steps>
  static __device__ __forceinline__ size_t offset(int stage, int unit) {
    return static_cast<size_t>(stage) * (2 * Steps * kBlock) + row<Steps>().unit * unit;
  }
  __device__ __forceinline__ void start(const Weights&, int, int) {}
  __device__ __forceinline__ void request() {}
  template <int>
  __device__ __forceinline__ void skip() {}
  template <int Steps>
  __device__ __forceinline__ void fragments(const unsigned char* from, int step, int half, int t,
                                            unsigned (&a)[2][4]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned char* const block = from + 8 * i * row<Steps>().pitch + (2 * step + half) * kBlock;
      const Factor<T> factor(short_at(block));
      const float scale = half_at(block), minimum = HasMinimum ? half_at(block + 2) : 0.0f;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const unsigned bytes = spread(short_at(block + kBlock - 16 + 8 * c + 2 * t));
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          unsigned& to = a[j][2 * c + i];
          if constexpr (HasMinimum) {
            to = scaled_pair<T>(centred_pair<__half, 0>(bytes >> 4 * j), scale, minimum);
          } else {
            to = factor.times(centred_pair<T, 8>(bytes >> 4 * j));
          }
        }
      }
    }
  }
};

// Q8_0: an f16 scale and 32 integers of 8 bits.
template <class T>
struct Q8 {
  using Element = T;
  using Weights = QuantisedWeights<T, unsigned char>;
  static constexpr bool kScalesRows = false, kHasNumbers = false;
  template <int Steps>
  static __device__ constexpr StageRow row() {
    if (Steps == 1) return {4, 17, 68};
    return {16, 17, 272};
  }
  static __device__ __forceinline__ size_t row_bytes(const Weights& of) { return static_cast<size_t>(of.k / 32) * 34; }
  template <int Steps>
  static __device__ __forceinline__ size_t offset(int stage, int unit) {
    return static_cast<size_t>(stage) * (68 * Steps) + row<Steps>().unit * unit;
  }
  __device__ __forceinline__ void start(const Weights&, int, int) {}
  __device__ __forceinline__ void request() {}
  template <int>
  __device__ __forceinline__ void skip() {}
  template <int Steps>
  __device__ __forceinline__ void fragments(const unsigned char* from, int step, int half, int t,
                                            unsigned (&a)[2][4]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned char* const block = from + 8 * i * row<Steps>().pitch + (2 * step + half) * 34;
      const float scale = half_at(block);
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        // q + 128 in the last bits of 1024
        const unsigned bytes = short_at(block + 2 + 8 * c + 2 * t) ^ 0x8080u;
        const unsigned pair = Two<__half>::sub(__byte_perm(bytes, 0x64, 0x4140), 0x64806480);
        if constexpr (Two<T>::kIsF16) {
          a[c / 2][2 * (c % 2) + i] = Two<T>::mul(pair, twice(short_at(block)));
        } else {
          a[c / 2][2 * (c % 2) + i] = scaled_pair<T>(pair, scale, 0.0f);
        }
      }
    }
  }
};

// Q4_K: blocks of 256 with f16 d and dmin, 6-bit scales and minima of 8 parts in 12 bytes, and 128 bytes, of which each 32
// have two parts, in low and in high halves. A stage of one step has the first 16 bytes and 32 of those.
template <class T>
struct Q4K {
  using Element = T;
  using Weights = QuantisedWeights<T, unsigned char>;
  static constexpr bool kScalesRows = false, kHasNumbers = false;
  template <int Steps>
  static __device__ constexpr StageRow row() {
    if (Steps == 1) return {16, 3, 48};
    return {16, 9, 144};
  }
  static __device__ __forceinline__ size_t row_bytes(const Weights& of) { return static_cast<size_t>(of.k / 256) * 144; }
  template <int Steps>
  static __device__ __forceinline__ size_t offset(int stage, int unit) {
    if (Steps == 4) return static_cast<size_t>(stage) * 144 + 16 * unit;
    return static_cast<size_t>(stage / 4) * 144 + (unit == 0 ? 0 : 32 * (stage % 4) + 16 * unit);
  }
  int first;  // of 8 parts, that of the step
  __device__ __forceinline__ void start(const Weights&, int, int step) { first = 2 * step % 8 - 2; }
  __device__ __forceinline__ void request() { first = (first + 2) % 8; }
  template <int>
  __device__ __forceinline__ void skip() {}
  template <int Steps>
  __device__ __forceinline__ void fragments(const unsigned char* from, int step, int half, int t,
                                            unsigned (&a)[2][4]) const {
    const int part = (Steps == 1 ? first : 2 * step) + half;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned char *const block = from + 8 * i * row<Steps>().pitch, *const sixes = block + 4;
      int scale, minimum;
      if (part < 4) {
        scale = sixes[part] & 63, minimum = sixes[part + 4] & 63;
      } else {
        scale = sixes[part + 4] & 15 | sixes[part - 4] >> 6 << 4;
        minimum = sixes[part + 4] >> 4 | sixes[part] >> 6 << 4;
      }
      const float factor = half_at(block) * scale, term = -half_at(block + 2) * minimum;
#pragma unroll
      for (int c = 0; c < 4; ++c)
        a[c / 2][2 * (c % 2) + i] = scaled_pair<T>(
            centred_pair<__half, 0>(spread(short_at(block + 16 + 32 * step + 8 * c + 2 * t)) >> 4 * half), factor, term);
    }
  }
};

}  // namespace cuda_kernels
