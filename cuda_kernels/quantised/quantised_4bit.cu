// Products with weights of 4 bits, y = x W^T, for x of f16 and bf16: ../include/quantised_row.cuh is for one row of x, and
// ../include/quantised.cuh for more. The memory layouts of the weights:
//
// - Blocks of GGUF (ggml/src/ggml-common.h of llama.cpp), each of 32 weights in a row, one after the other. Byte i
//   has weight i in its low half and weight 16 + i in its high one.
//   Q4_0, block_q4_0, 18 bytes: an f16 scale d, 16 bytes; the weights are d (q - 8).
//   Q4_1, block_q4_1, 20 bytes: f16 d and m, 16 bytes; the weights are d q + m.
// - Groups: bytes [n, k / 2], each with an even weight in its low half and the next in its high one; scales
//   [n, k / group], and perhaps zeros of the same shape; the weights are scale (q - zero), zero being 8 if not given.
//
// Memory traffic: the weights and scales once: 0.5625 bytes a weight in Q4_0, 0.625 in Q4_1, and 0.5 + 2 / group in
// groups, or 0.5 + 4 / group with zeros. x from the L2 cache once for each block.

#include "../include/quantised.cuh"
#include "../include/quantised_blocks_row.cuh"
#include "../include/quantised_groups_row.cuh"

namespace cuda_kernels {

// Q4_0, and with a minimum Q4_1.
template <bool HasMinimum, int Rows>
struct Blocks {
  static constexpr Order kOrder = Order::kHalves;
  static constexpr bool kHasMinimum = HasMinimum;
  static constexpr int kBlock = HasMinimum ? 20 : 18;
  static constexpr int kBytes = kGroups * kBlock;         // of a row in a step
  static constexpr int kStride = HasMinimum ? 176 : 144;  // 16 bytes times an odd number

  const unsigned char* weights;
  int n, blocks;
  unsigned alignment;
  WholeRows<kBytes, kStride, Rows> whole;

  __device__ __forceinline__ Blocks(const unsigned char* from, int rows, int blocks_of_row)
      : weights(from), n(rows), blocks(blocks_of_row), whole(blocks_of_row * kBlock) {
    alignment = static_cast<unsigned>(reinterpret_cast<unsigned long long>(from)) | blocks * kBlock;
  }

  __device__ __forceinline__ void fetch(unsigned char* slot, int first_row, int step) const {
    const size_t apart = static_cast<size_t>(blocks) * kBlock;
    const unsigned char* const from = weights + first_row * apart + step * kBytes;
    if (alignment % 16 == 0 && first_row + Rows <= n && (step + 1) * kGroups <= blocks) {
      whole.copy(shared_address(slot), from);
    } else {
      copy_rows<kBytes, kStride, Rows>(slot, from, apart, n - 1 - first_row,
                                       min(kGroups, blocks - step * kGroups) * kBlock, alignment);
    }
  }

  template <class T>
  __device__ __forceinline__ void fragments(T, const unsigned char* slot, int tile, int pair,
                                            unsigned (&a)[4][4]) const {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned upper[4], lower[4];
      expand<!HasMinimum>(T(), word(slot + (16 * tile + g) * kStride, 2 * pair + half, t), upper);
      expand<!HasMinimum>(T(), word(slot + (16 * tile + g + 8) * kStride, 2 * pair + half, t), lower);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        a[2 * half + i][0] = upper[2 * i], a[2 * half + i][1] = lower[2 * i];
        a[2 * half + i][2] = upper[2 * i + 1], a[2 * half + i][3] = lower[2 * i + 1];
      }
    }
  }

  // Bytes 4 t to 4 t + 3 of a block, which straddle two words in every other block of Q4_0.
  __device__ __forceinline__ unsigned word(const unsigned char* row, int block, int t) const {
    const int first = block * kBlock + kBlock - 16 + 4 * t;
    if (first % 4 == 0 || HasMinimum) return *reinterpret_cast<const unsigned*>(row + first);
    const unsigned* const words = reinterpret_cast<const unsigned*>(row + first - 2);
    return bytes_of<0x5432>(words[0], words[1]);
  }

  template <class T>
  __device__ __forceinline__ void scales(T, const unsigned char* row, int block, float& scale, float& minimum) const {
    if constexpr (HasMinimum) {
      const float2 both = __half22float2(*reinterpret_cast<const __half2*>(row + block * kBlock));
      scale = both.x, minimum = both.y;
    } else {
      scale = __half2float(*reinterpret_cast<const __half*>(row + block * kBlock));
    }
  }
};

template <class T, bool HasMinimum, int Quads, int Warps, int Resident>
__global__ void __launch_bounds__(32 * Warps, Resident) quantised_blocks_row(const T* __restrict__ x,
                                                                   const unsigned char* __restrict__ weight,
                                                                   T* __restrict__ y,
                                                                   int batch,
                                                                   int n,
                                                                   int k,
                                                                   int) {
  product_of_blocks<T, HasMinimum, Warps, Quads>(x, weight, y, n, k / kGroup);
}

template <class T, bool HasMinimum, int Tiles, int Columns, int Warps, int Stages, int Resident, int Team,
          bool IsRolled, class... Scratch>
__global__ void __launch_bounds__(32 * Warps, Resident) quantised_blocks(const T* __restrict__ x,
                                                               const unsigned char* __restrict__ weight,
                                                               T* __restrict__ y,
                                                               Scratch...,
                                                               int batch,
                                                               int n,
                                                               int k,
                                                               int) {
  Blocks<HasMinimum, 16 * Tiles / Team> format(weight, n, k / kGroup);
  product<decltype(format), T, Tiles, Columns, Warps, Stages, Team, IsRolled>(format, x, y, batch, n, k);
}

// Groups, with or without zeros.
template <class T, bool HasZeros, int Rows>
struct GroupsOf {
  static constexpr Order kOrder = Order::kPairs;
  static constexpr bool kHasMinimum = HasZeros;
  static constexpr int kBytes = kStep / 2;
  static constexpr int kStride = HasZeros ? 176 : 144;  // the bytes, 8 scales, 8 zeros; 16 times an odd number

  const unsigned char* weights;
  const T* scale_values;
  const T* zeros;
  int n, k, groups, size;
  int shift;  // 2 to this many groups of 32 share a scale in a slot
  bool at_once;
  WholeRows<kBytes, kStride, Rows> whole;

  __device__ __forceinline__ GroupsOf(const unsigned char* from, const T* scales_from, const T* zeros_from, int rows,
                                      int columns, int groups_of_row)
      : weights(from), scale_values(scales_from), zeros(zeros_from), n(rows), k(columns), groups(groups_of_row),
        whole(columns / 2) {
    size = k / groups / kGroup;  // in groups of 32
    shift = size == 1 ? 0 : size == 2 ? 1 : 2;
    const unsigned bytes = 16 >> shift;
    const unsigned long long addresses =
        reinterpret_cast<unsigned long long>(scales_from) | reinterpret_cast<unsigned long long>(zeros_from);
    at_once = size == 1 << shift && (addresses | groups * sizeof(T)) % bytes == 0;
    if (!at_once) shift = 0;
  }

  __device__ __forceinline__ void fetch(unsigned char* slot, int first_row, int step) const {
    const int last = n - 1 - first_row, here = min(kGroups, k / kGroup - step * kGroups);
    const size_t apart = k / 2;
    const unsigned char* const from = weights + first_row * apart + step * kBytes;
    if (aligned(weights) && last >= Rows - 1 && here == kGroups) {
      whole.copy(shared_address(slot), from);
    } else {
      copy_rows<kBytes, kStride, Rows>(slot, from, apart, last, here * 16,
                                       static_cast<unsigned>(reinterpret_cast<unsigned long long>(weights)));
    }
    fetch_numbers(slot + kBytes, scale_values + static_cast<size_t>(first_row) * groups, step, last, here);
    if constexpr (HasZeros)
      fetch_numbers(slot + kBytes + 16, zeros + static_cast<size_t>(first_row) * groups, step, last, here);
  }

  // The scales or zeros of a step, 8 of them or fewer in a row.
  __device__ __forceinline__ void fetch_numbers(unsigned char* to, const T* from, int step, int last, int here) const {
    const int lane = threadIdx.x % 32;
    if (at_once) {
      const int bytes = 16 >> shift;
#pragma unroll
      for (int row = lane; row < Rows; row += 32) {
        const unsigned address = shared_address(to) + row * kStride;
        const T* const some = from + min(row, last) * groups + step * (kGroups >> shift);
        cp_async<16>(address, some, 16, bytes == 16);
        cp_async<8>(address, some, 8, bytes == 8);
        cp_async<4>(address, some, 4, bytes == 4);
      }
    } else {
      for (int i = lane; i < Rows * kGroups; i += 32) {
        const int row = i / kGroups, group = i % kGroups;
        reinterpret_cast<T*>(to + row * kStride)[group] =
            group < here ? from[min(row, last) * groups + (step * kGroups + group) / size] : static_cast<T>(0.0f);
      }
    }
  }

  __device__ __forceinline__ void fragments(T, const unsigned char* slot, int tile, int pair,
                                            unsigned (&a)[4][4]) const {
    // ldmatrix tiles of 8 rows and 16 bytes: the upper and the lower rows of a group of 32, and of the next.
    const int lane = threadIdx.x % 32, row = lane % 16, group = lane / 16;
    unsigned words[4];
    ldmatrix(words, shared_address(slot) + (16 * tile + row) * kStride + (2 * pair + group) * 16);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned upper[4], lower[4];
      expand<!HasZeros>(T(), words[2 * half], upper);
      expand<!HasZeros>(T(), words[2 * half + 1], lower);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        a[2 * half + i][0] = upper[2 * i], a[2 * half + i][1] = lower[2 * i];
        a[2 * half + i][2] = upper[2 * i + 1], a[2 * half + i][3] = lower[2 * i + 1];
      }
    }
  }

  __device__ __forceinline__ void scales(T, const unsigned char* row, int group, float& scale, float& minimum) const {
    const T* const numbers = reinterpret_cast<const T*>(row + kBytes);
    scale = static_cast<float>(numbers[group >> shift]);
    if constexpr (HasZeros) minimum = -scale * static_cast<float>(numbers[8 + (group >> shift)]);
  }
};

template <class T, int Quads, int Warps, int Resident>
__global__ void __launch_bounds__(32 * Warps, Resident) quantised_groups_row(const T* __restrict__ x,
                                                                   const unsigned char* __restrict__ weight,
                                                                   const T* __restrict__ scales,
                                                                   T* __restrict__ y,
                                                                   int batch,
                                                                   int n,
                                                                   int k,
                                                                   int groups) {
  product_of_groups<T, false, Warps, Quads>(x, weight, scales, nullptr, y, n, k, groups);
}

template <class T, int Quads, int Warps, int Resident>
__global__ void __launch_bounds__(32 * Warps, Resident) quantised_groups_zeros_row(const T* __restrict__ x,
                                                                         const unsigned char* __restrict__ weight,
                                                                         const T* __restrict__ scales,
                                                                         const T* __restrict__ zeros,
                                                                         T* __restrict__ y,
                                                                         int batch,
                                                                         int n,
                                                                         int k,
                                                                         int groups) {
  product_of_groups<T, true, Warps, Quads>(x, weight, scales, zeros, y, n, k, groups);
}

template <class T, int Tiles, int Columns, int Warps, int Stages, int Resident, int Team,
          bool IsRolled, class... Scratch>
__global__ void __launch_bounds__(32 * Warps, Resident) quantised_groups(const T* __restrict__ x,
                                                               const unsigned char* __restrict__ weight,
                                                               const T* __restrict__ scales,
                                                               T* __restrict__ y,
                                                               Scratch...,
                                                               int batch,
                                                               int n,
                                                               int k,
                                                               int groups) {
  GroupsOf<T, false, 16 * Tiles / Team> format(weight, scales, nullptr, n, k, groups);
  product<decltype(format), T, Tiles, Columns, Warps, Stages, Team, IsRolled>(format, x, y, batch, n, k);
}

template <class T, int Tiles, int Columns, int Warps, int Stages, int Resident, int Team,
          bool IsRolled, class... Scratch>
__global__ void __launch_bounds__(32 * Warps, Resident) quantised_groups_zeros(const T* __restrict__ x,
                                                                     const unsigned char* __restrict__ weight,
                                                                     const T* __restrict__ scales,
                                                                     const T* __restrict__ zeros,
                                                                     T* __restrict__ y,
                                                                     Scratch...,
                                                                     int batch,
                                                                     int n,
                                                                     int k,
                                                                     int groups) {
  GroupsOf<T, true, 16 * Tiles / Team> format(weight, scales, zeros, n, k, groups);
  product<decltype(format), T, Tiles, Columns, Warps, Stages, Team, IsRolled>(format, x, y, batch, n, k);
}

}  // namespace cuda_kernels
