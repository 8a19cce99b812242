// y = x W^T for one row of x and weights of 4 bits in GGUF's blocks, to be included by quantised_4bit.cu: #include
// "../include/quantised_blocks_row.cuh". quantised_row.cuh explains how a warp multiplies a slice, 256 of k.
//
// Blocks of 18 or 20 bytes are not aligned, so a lane cannot load its own with one instruction. So the warps of a block
// cooperatively copy pieces of its 4 * Quads rows, a slice for each warp, through registers to shared memory: nearly all
// accesses are whole lines, 16 bytes a lane. The next piece is loaded as soon as the registers are stored; after one
// barrier, each warp multiplies its slice, from one stage while the other is written (double buffering).
//
// The 32 weights of a lane, with their scale, are 5 words of a slice. The lane reads them as two pairs and a single word.
// If the first word is at an odd position, it is the single one:
//
//   Q4_0, groups 2 p and 2 p + 1, words 9 p to 9 p + 8    |dq|qq|qq|qq|qd|qq|qq|qq|qq|    d, q: two bytes
//   even p, group 2 p                                      [pair][pair]single
//   odd p, group 2 p                                      single[pair][pair]
//
// A permutation turns bytes of the words 2 p into words of weights. A lane with an odd first word takes its last
// word of weights from the position of the first one, and x of the group is rotated accordingly.
#pragma once

#include "quantised_groups_row.cuh"

namespace cuda_kernels {

// The same value, which the compiler has to keep: it would recompute addresses in each iteration.
__device__ __forceinline__ unsigned kept(unsigned value) {
  asm volatile("" : "+r"(value));
  return value;
}

__device__ __forceinline__ void store_shared(unsigned at, uint4 bits) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w)
               : "memory");
}
__device__ __forceinline__ void store_shared(unsigned at, uint2 bits) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(at), "r"(bits.x), "r"(bits.y) : "memory");
}
__device__ __forceinline__ void load_shared(uint4& to, unsigned at) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(to.x), "=r"(to.y), "=r"(to.z), "=r"(to.w) : "r"(at)
               : "memory");
}
__device__ __forceinline__ void load_shared(uint2& to, unsigned at) {
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(to.x), "=r"(to.y) : "r"(at) : "memory");
}
__device__ __forceinline__ void load_shared(unsigned& to, unsigned at) {
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(to) : "r"(at) : "memory");
}

// Q4_0, or Q4_1, which has a minimum.
template <class T, bool HasMinimum>
struct BlocksOfRow {
  static constexpr int kBlock = HasMinimum ? 20 : 18, kSlice = kGroups * kBlock;

  // The first of a group's 5 words in a slice.
  __device__ __forceinline__ static int first_word(int group) {
    return HasMinimum ? 5 * group : group / 2 * 9 + group % 2 * 4;
  }
  // The position in B of the first or second word of weights to which a lane's 8 elements of x belong: elements 0 and 2,
  // 1 and 3 of the low halves of bytes, or of the high ones. `turned` if the words of weights start with the second one.
  __device__ __forceinline__ static unsigned place_of_x(int second, int turned) {
    const int lane = threadIdx.x % 32, word = 2 * (lane % 2) + second;
    return place_of_group(lane / 4) + (word - turned & 3) * 16 + (lane & 2 ? 8 : 0);
  }
  __device__ __forceinline__ static uint2 arranged(unsigned one, unsigned two) {
    return make_uint2(bytes_of<0x5410>(one, two), bytes_of<0x7632>(one, two));
  }
  __device__ __forceinline__ static float scaled(unsigned short scale, unsigned short minimum, float sum,
                                                 float of_ones) {
    const float less = Bare<T>::kTooMuch + (HasMinimum ? 0.0f : 8.0f);
    const float result = number_of<__half>(scale) * (sum - less * of_ones);
    return HasMinimum ? result + number_of<__half>(minimum) * of_ones : result;
  }
};

// For any address and number of blocks, as `AnyGroups`.
template <class T, bool HasMinimum>
struct AnyBlocks : BlocksOfRow<T, HasMinimum> {
  using Blocks = BlocksOfRow<T, HasMinimum>;

  const T* x;
  const unsigned char* weight;
  int first_row, n, blocks, slice, step;

  __device__ __forceinline__ AnyBlocks(const T* x_from, const unsigned char* weight_from, int first, int rows,
                                       int blocks_of_row, int warps)
      : x(x_from), weight(weight_from), first_row(first), n(rows), blocks(blocks_of_row), slice(threadIdx.x / 32),
        step(warps) {}

  __device__ __forceinline__ bool inside() const { return slice * kGroups + Role().group < blocks; }
  __device__ __forceinline__ const unsigned char* block(int q) const {
    const size_t row = min(first_row + 4 * q + Role().row, n - 1);
    return weight + (row * blocks + slice * kGroups + Role().group) * Blocks::kBlock;
  }

  __device__ __forceinline__ void advance() { slice += step; }
  __device__ __forceinline__ void load_x(uint4& to, unsigned) const {
    const int at = slice * kStep + 8 * (threadIdx.x % 32);
    const bool is_there = at < blocks * kGroup;
    to = load_elements(is_there ? x + at : x, is_there ? 8 : 0);
  }
  __device__ __forceinline__ void load_words(uint4& to, int q, unsigned) const {
    to = inside() ? load_bytes(block(q) + Blocks::kBlock - 16) : make_uint4(0, 0, 0, 0);
  }
  __device__ __forceinline__ void load_numbers(unsigned short& scale, unsigned short& minimum, int q, unsigned) const {
    const unsigned char* const from = block(q);
    scale = minimum = 0;
    if (inside()) {
      scale = from[0] | from[1] << 8;
      if (HasMinimum) minimum = from[2] | from[3] << 8;
    }
  }
  __device__ __forceinline__ static void arrange(uint4* to, uint4 own) {
    unsigned char* const bytes = reinterpret_cast<unsigned char*>(to);
    *reinterpret_cast<uint2*>(bytes + Blocks::place_of_x(0, 0)) = Blocks::arranged(own.x, own.y);
    *reinterpret_cast<uint2*>(bytes + Blocks::place_of_x(1, 0)) = Blocks::arranged(own.z, own.w);
  }
};

// Sizes in bytes of the staged pieces of a block's rows, and of x of their slices.
template <bool HasMinimum, int Warps, int Quads>
struct Pieces {
  static constexpr int kRows = 4 * Quads, kThreads = 32 * Warps;
  static constexpr int kPiece = Warps * BlocksOfRow<__half, HasMinimum>::kSlice;
  // For Q4_0, the rows of a quad are in different banks; for Q4_1 they would still conflict, so they are consecutive.
  static constexpr int kStride = kPiece + (HasMinimum ? 0 : (64 + 128 - kPiece % 128) % 128);
  static constexpr int kX = kRows * kStride, kSlot = kX + Warps * kSliceOfXBytes;
  static constexpr int kUnits = kRows * kPiece / 16, kLoads = (kUnits + kThreads - 1) / kThreads;
};

// A lane's 5 words of a quad.
template <bool HasMinimum>
struct FiveWords {
  uint2 first, second;
  unsigned single;

  // The word of weights for an MMA; `order` selects its bytes from two words.
  __device__ __forceinline__ unsigned word(int i, bool is_odd, unsigned order) const {
    if (HasMinimum) return i == 0 ? first.y : i == 1 ? second.x : i == 2 ? second.y : is_odd ? first.x : single;
    const unsigned from = i == 0 ? first.x : i == 1 ? first.y : i == 2 ? second.x : is_odd ? single : second.y;
    const unsigned more = i == 0 ? first.y : i == 1 ? second.x : i == 2 ? second.y : is_odd ? first.x : single;
    return __byte_perm(from, more, order);
  }
  // The scale, and for Q4_1 the minimum in the high half.
  __device__ __forceinline__ unsigned numbers(bool is_odd, bool in_high_half) const {
    const unsigned bits = is_odd ? single : first.x;
    return HasMinimum ? bits : __byte_perm(bits, 0, in_high_half ? 0x4432 : 0x4410);
  }
};

// Accumulates a lane's weights, of a row of each quad. Needs whole slices, at least one per warp, and aligned rows.
template <class T, bool HasMinimum, int Warps, int Quads>
__device__ __forceinline__ void sum_pieces(const T* __restrict__ x, const unsigned char* __restrict__ weight,
                                           int first_row, int slices, unsigned char* memory,
                                           float (&sums)[Quads]) {
  using Blocks = BlocksOfRow<T, HasMinimum>;
  using Of = Pieces<HasMinimum, Warps, Quads>;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Role role;
  const unsigned slots = kept(shared_address(memory)), x_slots = slots + Of::kX + warp * kSliceOfXBytes;

  // A thread's share of a piece, in units of 16 bytes.
  unsigned from[Of::kLoads], to[Of::kLoads];
#pragma unroll
  for (int i = 0; i < Of::kLoads; ++i) {
    const int unit = Of::kThreads * i + threadIdx.x, row = unit / (Of::kPiece / 16), at = unit % (Of::kPiece / 16) * 16;
    from[i] = row * slices * Blocks::kSlice + at;
    to[i] = Of::kStride == Of::kPiece ? 0 : kept(slots + row * Of::kStride + at);
  }
  unsigned all_to = kept(slots + 16 * threadIdx.x);  // where they are contiguous
  const bool has_last = Of::kThreads * (Of::kLoads - 1) + static_cast<int>(threadIdx.x) < Of::kUnits;
  const auto has = [&](int i) { return i + 1 < Of::kLoads || has_last; };
  const unsigned char* piece = weight + static_cast<size_t>(first_row) * slices * Blocks::kSlice;
  const T* of_warp = x + warp * kStep + 8 * lane;
  uint4 words[Of::kLoads], of_x = make_uint4(0, 0, 0, 0), b[4] = {};
#pragma unroll
  for (int i = 0; i < Of::kLoads; ++i) words[i] = make_uint4(0, 0, 0, 0);
  const auto load = [&] {
    load_often(of_x, of_warp, true);
#pragma unroll
    for (int i = 0; i < Of::kLoads; ++i) load_once(words[i], piece + from[i], has(i));
  };

  // The addresses where a lane reads its words and x for B, and writes its x.
  const int first_word = Blocks::first_word(role.group), turned = Blocks::first_word(lane / 4) % 2;
  const bool is_odd = first_word % 2 == 1, in_high_half = role.group % 2 == 1;
  const unsigned order = in_high_half ? 0x7654 : 0x5432;
  unsigned pairs = kept(slots + role.row * Of::kStride + warp * Blocks::kSlice + 4 * (first_word + is_odd));
  unsigned single = kept(pairs + (is_odd ? -4 : 16));
  unsigned of_b = kept(x_slots + place_of_group(role.of_b));
  unsigned x_to[2] = {kept(x_slots + Blocks::place_of_x(0, turned)), kept(x_slots + Blocks::place_of_x(1, turned))};
  unsigned other = Of::kSlot;  // from one slot to the other

  // The last piece is full, too: if necessary it starts with slices that are already done.
  int start = 0;
  load();
#pragma unroll 1
  for (int done = 0; done < slices; done += Warps) {
#pragma unroll
    for (int i = 0; i < Of::kLoads; ++i) {
      const bool in_line = Of::kStride == Of::kPiece;
      if (has(i)) store_shared(in_line ? all_to + 16 * Of::kThreads * i : to[i], words[i]);
      to[i] += other;
    }
    all_to += other;
    store_shared(x_to[0], Blocks::arranged(of_x.x, of_x.y));
    store_shared(x_to[1], Blocks::arranged(of_x.z, of_x.w));
    const bool is_new = start + warp >= done;
    if (done + Warps < slices) {
      const int further = min(Warps, slices - Warps - start);
      start += further, of_warp += further * kStep, piece += further * Blocks::kSlice;
      load();
    }
    __syncthreads();
    if (is_new) {
      if (role.gives_x) {
#pragma unroll
        for (int i = 0; i < 4; ++i) load_shared(b[i], of_b + 16 * i);
      }
      const float of_ones = sum_of_x<T>(b, role.second);
#pragma unroll
      for (int q = 0; q < Quads; q += 2) {
        FiveWords<HasMinimum> own[2] = {};
        SumsOfTwo<T> two;
#pragma unroll
        for (int h = 0; h < 2 && q + h < Quads; ++h) {
          load_shared(own[h].first, pairs + (q + h) * 4 * Of::kStride);
          load_shared(own[h].second, pairs + (q + h) * 4 * Of::kStride + 8);
          load_shared(own[h].single, single + (q + h) * 4 * Of::kStride);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i)
          two.add(expand_words<T>(own[0].word(i, is_odd, order), own[1].word(i, is_odd, order)), b[i]);
#pragma unroll
        for (int h = 0; h < 2 && q + h < Quads; ++h) {
          const unsigned numbers = own[h].numbers(is_odd, in_high_half);
          sums[q + h] += Blocks::scaled(numbers & 0xffff, numbers >> 16, two.of(h, role.second), of_ones);
        }
      }
    }
    pairs += other, single += other, of_b += other, x_to[0] += other, x_to[1] += other;
    other = -other;
  }
}

// Not inlined, like `sum_any_groups`; two quads at a time, the last of which may be empty.
template <class T, bool HasMinimum, int Warps, int Rows>
__device__ __noinline__ void sum_any_blocks(const T* x, const unsigned char* weight, int first_row, int n, int blocks,
                                            SlicesOfX& arranged, float (&found)[Rows]) {
#pragma unroll 1
  for (int row = 0; row < Rows; row += 8) {
    float sums[2] = {};
    sum_slices<T, Warps>(AnyBlocks<T, HasMinimum>(x, weight, first_row + row, n, blocks, Warps),
                         (blocks + kGroups - 1) / kGroups, arranged, sums);
    const float one[1] = {sums[0]}, other[1] = {sums[1]};
    keep_sums(one, found, row);
    if (row + 4 < Rows) keep_sums(other, found, row + 4);
    __syncwarp();
  }
}

template <class T, bool HasMinimum, int Warps, int Quads>
__device__ __forceinline__ void product_of_blocks(const T* __restrict__ x, const unsigned char* __restrict__ weight,
                                                  T* __restrict__ y, int n, int blocks) {
  using Of = Pieces<HasMinimum, Warps, Quads>;
  extern __shared__ __align__(16) unsigned char memory[];
  auto& found = *reinterpret_cast<float(*)[Warps][Of::kRows]>(memory + 2 * Of::kSlot);
  const int warp = threadIdx.x / 32, slices = blocks / kGroups;
  const int own_row = blockIdx.x * Of::kRows, first_row = first_row_of(own_row, Of::kRows, n);
  if (n < Of::kRows || slices < Warps || !aligned(weight, x) || blocks % kGroups != 0) {
    sum_any_blocks<T, HasMinimum, Warps>(x, weight, first_row, n, blocks, reinterpret_cast<SlicesOfX*>(memory)[warp],
                                         found[warp]);
  } else {
    float sums[Quads] = {};
    sum_pieces<T, HasMinimum, Warps>(x, weight, first_row, slices, memory, sums);
    keep_sums(sums, found[warp], 0);
  }
  epilogue(found, y, first_row, own_row, n);
}

}  // namespace cuda_kernels
