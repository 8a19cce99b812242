// Products with quantised weights, y = x W^T of x [batch, k] and W [n, k], to be included by kernels:
// #include "include/quantised.cuh".
//
// The weights are all there is to move: each is used once for each row of x, of which there are few. So a block
// has as many of their bytes on the way as shared memory holds, and the arithmetic has to keep out of the way.
//
//   weights [n, k]        a block: 16 * Tiles rows          a warp: its own ring of `Stages` slots
//   +-----------------+   +-----+-----+-----+-----+--        +--------+--------+--------+
//   |                 |   | w 0 | w 1 |  ...  | w 0 |  ...   | step i | step   | step   |   cp.async fills one
//   |=================|   +-----+-----+-----+-----+--        |        | i + 1  | i + 2  |   while another is used
//   |                 |    256 of k to each warp in turn     +--------+--------+--------+
//   +-----------------+
//
// A slot holds a step: 256 of k of the block's rows as memory has them, and of up to `Columns` rows of x. No warp
// waits for another until all are done, and then they add up what they found.
//
// The arithmetic is that of tensor cores, for a batch of one as well: weights are A [16, 16], x is B [16, 8]. An
// order of k is free if it is the same for both, so a lane takes the 8 weights that lie together in a 32-bit
// word. They become 16-bit floats as the integers that they are, exactly; the scale of 32 of them multiplies what
// they add up to, in f32.
#pragma once

#include "mma.cuh"
#include "pack.cuh"

namespace cuda_kernels {

constexpr int kStep = 256;   // elements of k in a slot
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

// (word & mask) | more, as one instruction: two constants are one too many for what the compiler makes of it.
__device__ __forceinline__ unsigned masked(unsigned word, unsigned mask, unsigned more) {
  unsigned result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(word), "r"(mask), "r"(more));
  return result;
}

// The 8 numbers of 4 bits in a word, perhaps less 8: of bytes 0 and 2 the low ones and the high ones, then of bytes 1
// and 3. As f16, 1024 + q is the bits of q under those of 1024, and 1024 + 16 q those of the high half of a byte;
// what is too much is taken away without rounding.
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

// bf16 has 7 bits, enough for 128 + q.
template <bool LessEight>
__device__ __forceinline__ void expand(__nv_bfloat16, unsigned word, unsigned (&to)[4]) {
  constexpr unsigned one = 0x3f803f80, less = LessEight ? 0xc308c308 : 0xc300c300;  // -136 or -128
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const auto large = pair_of<__nv_bfloat162>(masked(word >> 4 * i, 0x000f000f, 0x43004300));
    to[i] = bits_of(__hfma2(large, pair_of<__nv_bfloat162>(one), pair_of<__nv_bfloat162>(less)));
  }
}

// Which elements of k a lane's registers hold, of 32: the order that its weights come in.
enum class Order {
  kHalves,   // a byte has element i and element 16 + i
  kPairs,    // a byte has elements 2 i and 2 i + 1
  kNatural,  // a byte is an element
};

// A lane's part of 32 elements of one row of x, as B of two multiplications.
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
    if constexpr (Form == Order::kNatural) {
      to[0][0] = first.x, to[0][1] = first.y, to[1][0] = second.x, to[1][1] = second.y;
    } else {
      to[0][0] = bytes_of<0x5410>(first.x, first.y);
      to[0][1] = bytes_of<0x5410>(second.x, second.y);
      to[1][0] = bytes_of<0x7632>(first.x, first.y);
      to[1][1] = bytes_of<0x7632>(second.x, second.y);
    }
  }
}

// Copies `bytes` of each of `Rows` rows, which lie `apart` in memory and Stride in shared memory, by Unit, and makes
// the rest of Bytes zeros; those of row `last` for the rows after it.
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
      copy_async<Unit>(shared_address(to) + row * Stride + at, at < bytes ? from + offset : from, at < bytes ? Unit : 0);
    }
  }
}

// The same, by as many bytes at once as `alignment`, of the first address and of what lies between rows, allows.
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

// The same where all rows are there and all bytes, in units of 16: what a lane copies lies in the same places of
// every step, which it works out once.
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
      if (32 * i + 32 <= kUnits || 32 * i + threadIdx.x % 32 < kUnits) copy_async(slot + to[i], first + from[i], 16);
  }
};

// The sizes of a product's parts.
template <class Format, int Tiles, int Columns, int Warps, int Stages>
struct Sizes {
  static constexpr int kRows = 16 * Tiles;
  // Apart in shared memory so that no two lanes of a load meet in a bank.
  static constexpr int kColumnBytes = 2 * kStep + (Format::kOrder == Order::kPairs ? 64 : 32);
  static constexpr int kWeightBytes = kRows * Format::kStride;
  static constexpr int kSlotBytes = kWeightBytes + Columns * kColumnBytes;
};

// y = x W^T for Columns rows of x and tiles of rows of W: a block takes each gridDim.x-th tile. A Format says how
// weights lie in memory:
//   kOrder, kStride (bytes of a row in a slot), kScaled (32 elements share a scale), kHasMinimum (and a number that
//   is added to each);
//   fetch(slot, first_row, step): begins to copy a step;
//   fragments(T(), slot, tile, pair, a): two groups of a tile's rows, as A of four multiplications;
//   scales(T(), row, group, scale, minimum): those of a row of a slot;
//   complete(sums): when all steps of a tile are done; finished(sum, row): the result.
template <class Format, class T, int Tiles, int Columns, int Warps, int Stages, bool IsRolled>
struct Product {
  using Of = Sizes<Format, Tiles, Columns, Warps, Stages>;
  static constexpr int kColumnTiles = (Columns + 7) / 8;
  using Sums = float[Tiles][kColumnTiles][4];

  Format& format;
  const T* __restrict__ x;
  int batch, k, first_column;
  bool x_is_aligned;

  __device__ __forceinline__ void fetch(unsigned char* slot, int first_row, int step) const {
    format.fetch(slot, first_row, step);
    const int lane = threadIdx.x % 32, at = step * kStep + 8 * lane;
    unsigned char* const to = slot + Of::kWeightBytes + 16 * lane;
#pragma unroll
    for (int c = 0; c < Columns; ++c) {
      const T* const from = x + static_cast<size_t>(min(first_column + c, batch - 1)) * k + at;
      if (x_is_aligned) {
        copy_async(shared_address(to + c * Of::kColumnBytes), at < k ? from : x, at < k ? 16 : 0);
      } else {
        *reinterpret_cast<uint4*>(to + c * Of::kColumnBytes) = load_elements(at < k ? from : x, at < k ? 8 : 0);
      }
    }
  }

  // Adds what a step comes to. What is past the end of k is zeros in the slot.
  __device__ __forceinline__ void multiply(const unsigned char* slot, Sums& sums) const {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll(IsRolled ? 1 : kGroups / 2)
    for (int pair = 0; pair < kGroups / 2; ++pair) {
      unsigned b[kColumnTiles][4][2] = {};
      float added[kColumnTiles][2][4] = {};
#pragma unroll
      for (int c = 0; c < kColumnTiles; ++c) {
        // One row of x is all columns of B: each lane reads it, as cheaply as one.
        const int column = Columns == 1 ? 0 : 8 * c + g;
        const unsigned char* const from =
            slot + Of::kWeightBytes + column * Of::kColumnBytes + 2 * kGroup * 2 * pair;
        load_x<Format::kOrder>(from, t, reinterpret_cast<unsigned(&)[2][2]>(b[c][0]));
        load_x<Format::kOrder>(from + 2 * kGroup, t, reinterpret_cast<unsigned(&)[2][2]>(b[c][2]));
        if constexpr (Format::kHasMinimum) {
          const unsigned one = repeated<T>(1.0f).x, ones[4] = {one, one, one, one};
#pragma unroll
          for (int i = 0; i < 4; ++i) multiply_add(T(), added[c][i / 2], ones, b[c][i]);
        }
      }
#pragma unroll
      for (int tile = 0; tile < Tiles; ++tile) {
        unsigned a[4][4];
        format.fragments(T(), slot, tile, pair, a);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float scale[2] = {1.0f, 1.0f}, minimum[2] = {0.0f, 0.0f};
          if constexpr (Format::kScaled) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
              const unsigned char* const row = slot + (16 * tile + g + 8 * i) * Format::kStride;
              format.scales(T(), row, 2 * pair + half, scale[i], minimum[i]);
            }
          }
#pragma unroll
          for (int c = 0; c < kColumnTiles; ++c) {
            float(&sum)[4] = sums[tile][c];
            if constexpr (Format::kScaled) {
              float found[4] = {0.0f, 0.0f, 0.0f, 0.0f};
              multiply_add(T(), found, a[2 * half], b[c][2 * half]);
              multiply_add(T(), found, a[2 * half + 1], b[c][2 * half + 1]);
#pragma unroll
              for (int i = 0; i < 4; ++i) {
                if (Columns == 1 && i % 2 == 1) continue;
                sum[i] += scale[i / 2] * found[i];
                if constexpr (Format::kHasMinimum) sum[i] += minimum[i / 2] * added[c][half][i];
              }
            } else {
              multiply_add(T(), sum, a[2 * half], b[c][2 * half]);
              multiply_add(T(), sum, a[2 * half + 1], b[c][2 * half + 1]);
            }
          }
        }
      }
    }
  }
};

template <class Format, class T, int Tiles, int Columns, int Warps, int Stages, bool IsRolled>
__device__ __forceinline__ void product(Format& format, const T* __restrict__ x, T* __restrict__ y, int batch, int n,
                                        int k) {
  using Of = Sizes<Format, Tiles, Columns, Warps, Stages>;
  using Work = Product<Format, T, Tiles, Columns, Warps, Stages, IsRolled>;
  extern __shared__ __align__(16) unsigned char memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int first_column = blockIdx.y * Columns;
  const int steps = (k + kStep - 1) / kStep, tiles = (n + Of::kRows - 1) / Of::kRows;
  unsigned char* const ring = memory + warp * Stages * Of::kSlotBytes;
  float* const found = reinterpret_cast<float*>(memory + Warps * Stages * Of::kSlotBytes);
  const Work work = {format, x, batch, k, first_column, aligned(x)};

  // Steps of this block's tiles, one tile after the other, go to the warps in turn. This is the next to be copied.
  int coming_tile = blockIdx.x, coming_step = warp;
  const auto fetch = [&](int slot) {
    while (coming_step >= steps) coming_step -= steps, coming_tile += gridDim.x;
    if (coming_tile < tiles) work.fetch(ring + slot * Of::kSlotBytes, coming_tile * Of::kRows, coming_step);
    coming_step += Warps;
    end_group();
  };
#pragma unroll
  for (int i = 0; i < Stages - 1; ++i) fetch(i);

  int slot = 0, turn = 0, step = warp;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    typename Work::Sums sums = {};
    for (; step < steps; step += Warps) {
      wait_for_groups<Stages - 2>();
      __syncwarp();
      fetch(slot == 0 ? Stages - 1 : slot - 1);
      const unsigned char* const here = ring + slot * Of::kSlotBytes;
      work.multiply(here, sums);
      slot = slot == Stages - 1 ? 0 : slot + 1;
      __syncwarp();
    }
    step -= steps;
    format.complete(sums);

    // What the warps found for each row and column, and then their sum. The next tile's goes elsewhere, so that
    // nobody has to wait until this one's is read.
    float* const here = found + turn * Warps * Columns * Of::kRows;
    turn ^= 1;
#pragma unroll
    for (int i = 0; i < Tiles * Work::kColumnTiles * 4; ++i) {
      const int part = i / 4 / Work::kColumnTiles, c = i / 4 % Work::kColumnTiles;
      const int row = 16 * part + g + i % 4 / 2 * 8, column = 8 * c + 2 * t + i % 2;
      if (column < Columns) here[(warp * Columns + column) * Of::kRows + row] = sums[part][c][i % 4];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < Columns * Of::kRows; i += 32 * Warps) {
      const int row = tile * Of::kRows + i % Of::kRows, column = first_column + i / Of::kRows;
      float sum = 0.0f;
#pragma unroll
      for (int w = 0; w < Warps; ++w) sum += here[w * Columns * Of::kRows + i];
      if (row < n && column < batch)
        y[static_cast<size_t>(column) * n + row] = static_cast<T>(format.finished(sum, row));
    }
  }
}

}  // namespace cuda_kernels
