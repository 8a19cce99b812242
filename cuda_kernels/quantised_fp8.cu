// Products with weights of 8-bit floats (e4m3), y = x W^T, for x of f16 and bf16: include/quantised.cuh says how.
// Weights [n, k], and scales in f32, each for an equal part of the rows: one for all, or one for each row. The
// weights become 16-bit floats exactly; what a row adds up to is multiplied by its scale, in f32.
//
// Memory traffic: each weight once, a byte. x from the L2 cache once for each block.

#include <cuda_fp8.h>

#include "include/quantised.cuh"

namespace cuda_kernels {

// From sm_89 on there is an instruction for pairs of f16, and a NaN stays one. Otherwise the bits are moved to
// where f16 or bf16 has them: exponents count from elsewhere then, and NaN is a number.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
template <class T>
constexpr bool kConverts = false;
template <>
constexpr bool kConverts<__half> = true;
#else
template <class T>
constexpr bool kConverts = false;
#endif

// The two e4m3 in the upper bytes of each half of a word, as f16 times 2^-8.
__device__ __forceinline__ unsigned moved(__half, unsigned bytes) {
  return (bytes & 0x80008000) | (bytes >> 1 & 0x3f803f80);
}

// The same as bf16. Times 2^-120 they would be, and their products with x too small for f32.
__device__ __forceinline__ unsigned moved(__nv_bfloat16, unsigned bytes) {
  const auto small = pair_of<__nv_bfloat162>((bytes & 0x80008000) | (bytes >> 4 & 0x07f007f0));
  return bits_of(__hmul2(small, pair_of<__nv_bfloat162>(0x7b807b80)));
}

// The four e4m3 of a word as two pairs; bits of those that are NaN, unless the pairs have it.
template <class T>
__device__ __forceinline__ void expand_bytes(T, unsigned word, unsigned& first, unsigned& second, unsigned& nans) {
  if constexpr (kConverts<T>) {
    asm("{\n  .reg .b16 low, high;\n  mov.b32 {low, high}, %2;\n  cvt.rn.f16x2.e4m3x2 %0, low;\n"
        "  cvt.rn.f16x2.e4m3x2 %1, high;\n}"
        : "=r"(first), "=r"(second)
        : "r"(word));
  } else {
    first = moved(T(), bytes_of<0x1404>(word, 0));
    second = moved(T(), bytes_of<0x3424>(word, 0));
    nans |= ((word & 0x7f7f7f7f) + 0x01010101) & 0x80808080;
  }
}

template <class T>
constexpr float kTooSmall = 256.0f;
template <>
constexpr float kTooSmall<__nv_bfloat16> = 1.0f;

template <class T, int Tiles>
struct Bytes {
  static constexpr Order kOrder = Order::kNatural;
  static constexpr bool kScaled = false, kHasMinimum = false;
  static constexpr int kStride = kStep + 16;  // 16 bytes times an odd number
  static constexpr float kFactor = kConverts<T> ? 1.0f : kTooSmall<T>;

  const unsigned char* weights;
  const float* scale_values;
  int n, k, rows_of_scale;
  WholeRows<kStep, kStride, 16 * Tiles> whole;
  unsigned nans[Tiles][2] = {};  // bits of bytes that were NaN, of the rows g and g + 8

  __device__ __forceinline__ Bytes(const unsigned char* from, const float* scales_from, int rows, int columns,
                                   int parts)
      : weights(from), scale_values(scales_from), n(rows), k(columns), rows_of_scale(rows / parts), whole(columns) {}

  __device__ __forceinline__ void fetch(unsigned char* slot, int first_row, int step) const {
    const size_t apart = k;
    const unsigned char* const from = weights + first_row * apart + step * kStep;
    if (aligned(weights) && first_row + 16 * Tiles <= n && (step + 1) * kStep <= k) {
      whole.copy(shared_address(slot), from);
    } else {
      copy_rows<kStep, kStride, 16 * Tiles>(slot, from, apart, n - 1 - first_row, min(kStep, k - step * kStep),
                                            static_cast<unsigned>(reinterpret_cast<unsigned long long>(weights)));
    }
  }

  __device__ __forceinline__ void fragments(T, const unsigned char* slot, int tile, int pair,
                                            unsigned (&a)[4][4]) {
    // Matrices of 8 rows and 16 bytes: the upper rows and the lower ones, and of the next 16 bytes.
    const int lane = threadIdx.x % 32, row = 16 * tile + lane % 16, at = lane / 16 * 16;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned words[4];
      load_matrices(words, shared_address(slot) + row * kStride + (2 * pair + half) * kGroup + at);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        unsigned(&to)[4] = a[2 * half + i / 2];
        expand_bytes(T(), words[i], to[i % 2], to[i % 2 + 2], nans[tile][i % 2]);
      }
    }
  }

  template <int ColumnTiles>
  __device__ __forceinline__ void complete(float (&sums)[Tiles][ColumnTiles][4]) {
    if constexpr (!kConverts<T>) {
#pragma unroll
      for (int i = 0; i < 4 * Tiles; ++i) {
        unsigned found = nans[i / 4][i % 4 / 2];
        found |= __shfl_xor_sync(0xffffffffu, found, 1);
        found |= __shfl_xor_sync(0xffffffffu, found, 2);
#pragma unroll
        for (int c = 0; c < ColumnTiles; ++c)
          if (found != 0) sums[i / 4][c][i % 4] = __int_as_float(0x7fffffff);
      }
#pragma unroll
      for (int i = 0; i < 2 * Tiles; ++i) nans[i / 2][i % 2] = 0;
    }
  }

  __device__ __forceinline__ float finished(float sum, int row) const {
    return sum * kFactor * scale_values[row / rows_of_scale];
  }
};

template <class T, int Tiles, int Columns, int Warps, int Stages, int Resident, bool IsRolled>
__global__ void __launch_bounds__(32 * Warps, Resident) quantised_fp8(const T* __restrict__ x,
                                                            const __nv_fp8_e4m3* __restrict__ weight,
                                                            const float* __restrict__ scales,
                                                            T* __restrict__ y,
                                                            int batch,
                                                            int n,
                                                            int k,
                                                            int parts) {
  Bytes<T, Tiles> format(reinterpret_cast<const unsigned char*>(weight), scales, n, k, parts);
  product<Bytes<T, Tiles>, T, Tiles, Columns, Warps, Stages, IsRolled>(format, x, y, batch, n, k);
}

}  // namespace cuda_kernels
