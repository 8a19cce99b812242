// Products with quantised weights, y = x W^T of x [batch, k] and W [n, k], to be included by kernels:
// #include "../include/quantised.cuh".
//
// Weights dominate the memory traffic: each is used once for each row of x, of which there are few. So a block keeps as
// many of their bytes in flight as shared memory holds, and the arithmetic must not be the bottleneck.
//
//   weights [n, k]        a block: 16 * Tiles rows          a team: `Stages` stages of its own
//   +-----------------+   +-----+-----+-----+-----+--        +--------+--------+--------+
//   |                 |   | t 0 | t 1 |  ...  | t 0 |  ...   | step i | step   | step   |   cp.async fills one
//   |=================|   +-----+-----+-----+-----+--        |        | i + 1  | i + 2  |   while another is used
//   |                 |    256 of k, teams round-robin       +--------+--------+--------+
//   +-----------------+
//
// A stage holds a step: 256 of k of the block's rows, as they are in memory, and of up to `Columns` rows of x. A team is
// one warp, or for more rows of x, where few stages fit, 2 or 4 warps that share one: each copies a part of the rows, and
// multiplies all rows of a slice of k. Teams do not synchronise until all are done; then their partial sums are reduced.
//
// Tensor cores do the arithmetic, for a batch of one too: weights are A [16, 16], x is B [16, 8]. The order of k does not
// matter as long as it is the same for both, so a lane takes the 8 weights of a 32-bit word. They become 16-bit floats
// exactly, as the integers that they are; the scale of each group of 32 multiplies their sum, in f32.
#pragma once

#include "mma.cuh"
#include "pack.cuh"

namespace cuda_kernels {

constexpr int kStep = 256;   // elements of k in a stage
constexpr int kGroup = 32;   // of those, the ones that share a scale
constexpr int kGroups = kStep / kGroup;

// Two 16-bit elements from `from` and two from `more`, by the bytes that `order` names.
template <unsigned Order>
__device__ __forceinline__ unsigned bytes_of(unsigned from, unsigned more) {
  return __byte_perm(from, more, Order);
}

template <class Pair>
__device__ __forceinline__ unsigned bits_of(Pair pair) {
  unsigned bits;
  memcpy(&bits, &pair, sizeof(bits));
  return bits;
}

template <class Pair>
__device__ __forceinline__ Pair pair_of(unsigned bits) {
  Pair pair;
  memcpy(&pair, &bits, sizeof(bits));
  return pair;
}

// (word & mask) | more as one lop3, which the compiler does not emit for two constants.
__device__ __forceinline__ unsigned masked(unsigned word, unsigned mask, unsigned more) {
  unsigned result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(word), "r"(mask), "r"(more));
  return result;
}

// Dequantises the 8 nibbles of a word, optionally minus 8: the low and the high ones of bytes 0 and 2, then those of bytes 1
// and 3. As f16, the bits of 1024 with those of q are 1024 + q, and with a high nibble 1024 + 16 q; the excess is
// subtracted exactly.
template <bool LessEight>
__device__ __forceinline__ void expand(__half, unsigned word, unsigned (&to)[4]) {
  constexpr unsigned sixteenth = 0x2c002c00;
  constexpr unsigned low = LessEight ? 0xe408e408 : 0xe400e400;   // -1032 or -1024
  constexpr unsigned high = LessEight ? 0xd480d480 : 0xd400d400;  // -72 or -64
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const unsigned bytes = word >> 8 * i;
    const auto small = pair_of<__half2>(masked(bytes, 0x000f000f, 0x64006400));
    const auto large = pair_of<__half2>(masked(bytes, 0x00f000f0, 0x64006400));
    to[2 * i] = bits_of(__hadd2(small, pair_of<__half2>(low)));
    to[2 * i + 1] = bits_of(__hfma2(large, pair_of<__half2>(sixteenth), pair_of<__half2>(high)));
  }
}

// bf16 has 7 mantissa bits, enough for 128 + q.
template <bool LessEight>
__device__ __forceinline__ void expand(__nv_bfloat16, unsigned word, unsigned (&to)[4]) {
  constexpr unsigned one = 0x3f803f80, less = LessEight ? 0xc308c308 : 0xc300c300;  // -136 or -128
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const auto large = pair_of<__nv_bfloat162>(masked(word >> 4 * i, 0x000f000f, 0x43004300));
    to[i] = bits_of(__hfma2(large, pair_of<__nv_bfloat162>(one), pair_of<__nv_bfloat162>(less)));
  }
}

// Turns the 8 nibbles of a word into operand A of two MMAs, `low` and `high`, and combines their results.
template <class T>
struct Bare;

// As denormals, exactly: q 2^-24, and in `high` 16 q 2^-24.
template <>
struct Bare<__half> {
  static constexpr unsigned kOnes = 0x00010001;
  static constexpr float kTooMuch = 0.0f, kUnit = 16777216.0f;  // 2^24

  __device__ __forceinline__ static void expand(unsigned word, unsigned (&low)[2], unsigned (&high)[2]) {
    const unsigned upper = word >> 8;
    low[0] = word & 0x000f000f, low[1] = upper & 0x000f000f;
    high[0] = word & 0x00f000f0, high[1] = upper & 0x00f000f0;
  }
  __device__ __forceinline__ static float sum(float low, float high) { return fmaf(high, 0.0625f, low); }
};

// As 128 + q.
template <>
struct Bare<__nv_bfloat16> {
  static constexpr unsigned kOnes = 0x3f803f80;
  static constexpr float kTooMuch = 128.0f, kUnit = 1.0f;

  __device__ __forceinline__ static void expand(unsigned word, unsigned (&low)[2], unsigned (&high)[2]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      low[i] = masked(word >> 8 * i, 0x000f000f, 0x43004300);
      high[i] = masked(word >> 8 * i + 4, 0x000f000f, 0x43004300);
    }
  }
  __device__ __forceinline__ static float sum(float low, float high) { return low + high; }
};

// Which of 32 elements of k a lane's registers hold: the order of its weights.
enum class Order {
  kHalves,  // a byte has element i and element 16 + i
  kPairs,   // a byte has elements 2 i and 2 i + 1
};

// A lane's part of 32 elements of one row of x, as operand B of two MMAs.
template <Order Form>
__device__ __forceinline__ void load_x(const unsigned char* group, int t, unsigned (&to)[2][2]) {
  if constexpr (Form == Order::kPairs) {
    const uint4 x = *reinterpret_cast<const uint4*>(group + 16 * t);
    to[0][0] = bytes_of<0x5410>(x.x, x.z);
    to[0][1] = bytes_of<0x7632>(x.x, x.z);
    to[1][0] = bytes_of<0x5410>(x.y, x.w);
    to[1][1] = bytes_of<0x7632>(x.y, x.w);
  } else {
    const uint2 first = *reinterpret_cast<const uint2*>(group + 8 * t);
    const uint2 second = *reinterpret_cast<const uint2*>(group + 32 + 8 * t);
    to[0][0] = bytes_of<0x5410>(first.x, first.y);
    to[0][1] = bytes_of<0x5410>(second.x, second.y);
    to[1][0] = bytes_of<0x7632>(first.x, first.y);
    to[1][1] = bytes_of<0x7632>(second.x, second.y);
  }
}

// Copies `bytes` of each of `Rows` rows, with a pitch of `apart` in memory and Stride in shared memory, in pieces of Unit,
// and pads them with zeros to Bytes; rows after `last` repeat it.
template <int Unit, int Bytes, int Stride, int Rows>
__device__ __forceinline__ void copy_units(unsigned char* to, const unsigned char* from, unsigned apart, int last,
                                           int bytes) {
  constexpr int units = Bytes / Unit, count = Rows * units;
#pragma unroll 1
  for (int unit = threadIdx.x % 32; unit < count; unit += 32) {
    const int row = unit / units, at = unit % units * Unit;
    const unsigned offset = min(row, last) * apart + at;
    if constexpr (Unit == 1) {
      to[row * Stride + at] = at < bytes ? from[offset] : 0;
    } else {
      cp_async<Unit>(shared_address(to) + row * Stride + at, at < bytes ? from + offset : from, at < bytes ? Unit : 0);
    }
  }
}

// The same, in the largest pieces that `alignment`, of the first address and the pitch, allows.
template <int Bytes, int Stride, int Rows>
__device__ __forceinline__ void copy_rows(unsigned char* to, const unsigned char* from, unsigned apart, int last,
                                          int bytes, unsigned alignment) {
  if (alignment % 16 == 0 && Bytes % 16 == 0) {
    copy_units<16, Bytes, Stride, Rows>(to, from, apart, last, bytes);
  } else if (alignment % 4 == 0) {
    copy_units<4, Bytes, Stride, Rows>(to, from, apart, last, bytes);
  } else {
    copy_units<1, Bytes, Stride, Rows>(to, from, apart, last, bytes);
  }
}

// The same for full rows in units of 16 bytes: a lane copies the same chunks in every step, and computes their offsets once.
template <int Bytes, int Stride, int Rows>
struct WholeRows {
  static constexpr int kUnits = Rows * Bytes / 16, kTurns = (kUnits + 31) / 32;
  unsigned from[kTurns], to[kTurns];

  __device__ __forceinline__ WholeRows(unsigned apart) {
#pragma unroll
    for (int i = 0; i < kTurns; ++i) {
      const int unit = 32 * i + threadIdx.x % 32, row = unit / (Bytes / 16), at = unit % (Bytes / 16) * 16;
      from[i] = row * apart + at;
      to[i] = row * Stride + at;
    }
  }

  __device__ __forceinline__ void copy(unsigned slot, const unsigned char* first) const {
#pragma unroll
    for (int i = 0; i < kTurns; ++i)
      if (32 * i + 32 <= kUnits || 32 * i + threadIdx.x % 32 < kUnits) cp_async(slot + to[i], first + from[i], 16);
  }
};

// c = a b: `mma` with zeros for c, which need no registers.
__device__ __forceinline__ void multiply(__half, float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %10, %10, %10};"
      : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
}

__device__ __forceinline__ void multiply(__nv_bfloat16, float (&c)[4], const unsigned (&a)[4],
                                         const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %10, %10, %10};"
      : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
}

// Waits until at most the latest `Rest` groups of copies of a team's warps are pending, and all of its warps are done with
// the previous stage.
template <int Rest, int Team>
__device__ __forceinline__ void sync_team(int team) {
  cp_async_wait<Rest>();
  asm volatile("barrier.sync %0, %1;" ::"r"(team + 1), "n"(32 * Team) : "memory");
}

// y = x W^T for Columns rows of x and tiles of rows of W. Persistent: a block takes every gridDim.x-th tile of 16 * Tiles
// rows. A Format, of the 16 * Tiles / Team rows that a warp copies, is the memory layout of weights:
//   kOrder, kStride (bytes of a row in a stage), kHasMinimum (whether a number is added to each weight);
//   fetch(slot, first_row, step): issues the copies of a step;
//   fragments(T(), slot, tile, pair, a): two groups of 16 rows, as A of four MMAs;
//   scales(T(), row, group, scale, minimum): those of a row of a stage.
template <class Format, class T, int Tiles, int Columns, int Warps, int Stages, int Team, bool IsRolled>
__device__ __forceinline__ void product(const Format& format, const T* __restrict__ x, T* __restrict__ y, int batch,
                                        int n, int k) {
  static_assert(Columns % 8 == 0 && Team > 1 && Warps % Team == 0 && Tiles % Team == 0 && kGroups / 2 % Team == 0,
                "equal parts, and warps to meet");
  constexpr int kRows = 16 * Tiles, kEights = Columns / 8, kTeams = Warps / Team, kPairs = kGroups / 2 / Team;
  // The pitch in shared memory; it avoids bank conflicts.
  constexpr int kColumnBytes = 2 * kStep + (Format::kOrder == Order::kPairs ? 64 : 32);
  constexpr int kWeightBytes = kRows * Format::kStride, kSlotBytes = kWeightBytes + Columns * kColumnBytes;
  extern __shared__ __align__(16) unsigned char memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int team = warp / Team, member = warp % Team;
  const int first_column = blockIdx.y * Columns, columns = min(Columns, batch - first_column);
  const int steps = (k + kStep - 1) / kStep, tiles = (n + kRows - 1) / kRows;
  const bool x_is_aligned = aligned(x);
  unsigned char* const ring = memory + team * Stages * kSlotBytes;
  float* const found = reinterpret_cast<float*>(memory + kTeams * Stages * kSlotBytes);

  // The steps of this block's tiles, one tile after another, go to the teams round-robin. This is the next step to copy.
  // A warp copies its part of the rows, repeating the last one past the end, and every Team-th row of x; missing ones
  // are zeros.
  int coming_tile = blockIdx.x, coming_step = team;
  const auto fetch = [&](int slot) {
    while (coming_step >= steps) coming_step -= steps, coming_tile += gridDim.x;
    if (coming_tile < tiles) {
      unsigned char* const to = ring + slot * kSlotBytes;
      const int row = kRows / Team * member;
      format.fetch(to + row * Format::kStride, min(coming_tile * kRows + row, n - 1), coming_step);
      const int at = coming_step * kStep + 8 * lane;
#pragma unroll
      for (int column = member; column < Columns; column += Team) {
        const bool is_there = at < k && column < columns;
        const T* const from = is_there ? x + static_cast<size_t>(first_column + column) * k + at : x;
        unsigned char* const place = to + kWeightBytes + column * kColumnBytes + 16 * lane;
        if (x_is_aligned) {
          cp_async(shared_address(place), from, is_there ? 16 : 0);
        } else {
          *reinterpret_cast<uint4*>(place) = load_elements(from, is_there ? 8 : 0);
        }
      }
    }
    coming_step += kTeams;
    cp_async_commit();
  };
#pragma unroll
  for (int i = 0; i < Stages - 1; ++i) fetch(i);

  int slot = 0, turn = 0, step = team;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    float sums[Tiles][kEights][4] = {};
    for (; step < steps; step += kTeams) {
      sync_team<Stages - 2, Team>(team);
      fetch(slot == 0 ? Stages - 1 : slot - 1);
      const unsigned char* const here = ring + slot * kSlotBytes;
      // Accumulates this warp's part of the step. The stage has zeros past the end of k.
#pragma unroll(IsRolled ? 1 : kPairs)
      for (int number = 0; number < kPairs; ++number) {
        const int pair = member * kPairs + number;
        unsigned b[kEights][4][2];
        float added[kEights][2][4];
#pragma unroll
        for (int e = 0; e < kEights; ++e) {
          const unsigned char* const from = here + kWeightBytes + (8 * e + g) * kColumnBytes + 4 * kGroup * pair;
          load_x<Format::kOrder>(from, t, reinterpret_cast<unsigned(&)[2][2]>(b[e][0]));
          load_x<Format::kOrder>(from + 2 * kGroup, t, reinterpret_cast<unsigned(&)[2][2]>(b[e][2]));
          if constexpr (Format::kHasMinimum) {
            const unsigned one = repeated<T>(1.0f).x, ones[4] = {one, one, one, one};
#pragma unroll
            for (int half = 0; half < 2; ++half) {
              multiply(T(), added[e][half], ones, b[e][2 * half]);
              mma(T(), added[e][half], ones, b[e][2 * half + 1]);
            }
          }
        }
#pragma unroll
        for (int part = 0; part < Tiles; ++part) {
          unsigned a[4][4];
          format.fragments(T(), here, part, pair, a);
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            float scale[2], minimum[2] = {0.0f, 0.0f};
#pragma unroll
            for (int i = 0; i < 2; ++i)
              format.scales(T(), here + (16 * part + g + 8 * i) * Format::kStride, 2 * pair + half, scale[i],
                            minimum[i]);
#pragma unroll
            for (int e = 0; e < kEights; ++e) {
              float(&sum)[4] = sums[part][e];
              float products[4];
              multiply(T(), products, a[2 * half], b[e][2 * half]);
              mma(T(), products, a[2 * half + 1], b[e][2 * half + 1]);
#pragma unroll
              for (int i = 0; i < 4; ++i) {
                sum[i] += scale[i / 2] * products[i];
                if constexpr (Format::kHasMinimum) sum[i] += minimum[i / 2] * added[e][half][i];
              }
            }
          }
        }
      }
      slot = slot == Stages - 1 ? 0 : slot + 1;
    }
    step -= steps;

    // The warps' partial sums of each row and column, and then the reduction. It is double-buffered, so that no warp
    // waits until those of the last tile are read.
    float* const here = found + turn * Warps * Columns * kRows;
    turn ^= 1;
#pragma unroll
    for (int i = 0; i < Tiles * kEights * 4; ++i) {
      const int part = i / 4 / kEights, e = i / 4 % kEights;
      const int row = 16 * part + g + i % 4 / 2 * 8, column = 8 * e + 2 * t + i % 2;
      here[(warp * Columns + column) * kRows + row] = sums[part][e][i % 4];
    }
    __syncthreads();
    // One barrier is enough. But after named barriers of fewer warps, compute-sanitizer's racecheck overlooks the first
    // barrier of all warps, and would report every partial sum.
    __syncthreads();
    for (int i = threadIdx.x; i < columns * kRows; i += 32 * Warps) {
      const int row = tile * kRows + i % kRows, column = first_column + i / kRows;
      float sum = 0.0f;
#pragma unroll
      for (int w = 0; w < Warps; ++w) sum += here[w * Columns * kRows + i];
      if (row < n) y[static_cast<size_t>(column) * n + row] = static_cast<T>(sum);
    }
  }
}

}  // namespace cuda_kernels
