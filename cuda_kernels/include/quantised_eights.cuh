// Memory layouts of weights of 8 bits, which are apart from their scales, as operand A of tensor cores; to be included by
// kernels for many rows of x: #include "../include/quantised_eights.cuh". What a layout is, quantised_formats.cuh says.
#pragma once

#include "quantised_formats.cuh"

namespace cuda_kernels {

template <class T>
struct EightsOfRow {
  using Element = T;
  static constexpr bool kHasNumbers = false;
  template <int Steps>
  static __device__ constexpr StageRow row() {
    return {16, 4 * Steps, 64 * Steps + 16};
  }
  template <int Steps>
  static __device__ __forceinline__ size_t offset(int stage, int unit) {
    return static_cast<size_t>(stage) * (64 * Steps) + 16 * unit;
  }
};

// Number: __nv_fp8_e4m3 or signed char.
template <class T, class Number>
struct Eights : EightsOfRow<T> {
  using Weights = QuantisedWeights<T, float>;
  static constexpr bool kScalesRows = true;
  static __device__ __forceinline__ size_t row_bytes(const Weights& of) { return of.k; }
  static __device__ __forceinline__ float row_scale(const Weights& of, int row) {
    return of.scales[of.parts == of.n ? row : row / (of.n / of.parts)];
  }
  __device__ __forceinline__ void start(const Weights&, int, int) {}
  __device__ __forceinline__ void request() {}
  template <int>
  __device__ __forceinline__ void skip() {}
  template <int Steps>
  __device__ __forceinline__ void fragments(const unsigned char* from, int step, int half, int t,
                                            unsigned (&a)[2][4]) const {
    constexpr int pitch = EightsOfRow<T>::template row<Steps>().pitch;
#pragma unroll
    for (int c = 0; c < 4; ++c)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const unsigned short two = short_at(from + 8 * i * pitch + 64 * step + 32 * half + 8 * c + 2 * t);
        if constexpr (kIsInteger<Number>) {
          a[c / 2][2 * (c % 2) + i] = pair_of_int8<T>(spread(two));
        } else {
          a[c / 2][2 * (c % 2) + i] = pair_of_e4m3<T>(two);
        }
      }
  }
};

template <class T>
struct EightBlocks : EightsOfRow<T> {
  using Weights = QuantisedWeights<T, float>;
  static constexpr bool kScalesRows = false;
  static __device__ __forceinline__ size_t row_bytes(const Weights& of) { return of.k; }

  const float* scales;  // both rows are in the same 128
  float scale;
  int last, step;

  __device__ __forceinline__ void start(const Weights& of, int row, int first_step) {
    scales = of.scales + static_cast<size_t>(min(row, of.n - 1) / 128) * of.parts;
    last = of.parts - 1, step = first_step;
  }
  __device__ __forceinline__ void request() { scale = __ldg(scales + min(step++ / 2, last)); }
  template <int Count>
  __device__ __forceinline__ void skip() {
    step += Count;
  }
  template <int Steps>
  __device__ __forceinline__ void fragments(const unsigned char* from, int step, int half, int t,
                                            unsigned (&a)[2][4]) const {
    constexpr int pitch = EightsOfRow<T>::template row<Steps>().pitch;
#pragma unroll
    for (int c = 0; c < 4; ++c)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const unsigned pair = half_pair_of_e4m3(short_at(from + 8 * i * pitch + 64 * step + 32 * half + 8 * c + 2 * t));
        a[c / 2][2 * (c % 2) + i] = scaled_pair<T>(pair, scale, 0.0f);
      }
  }
};

// Integers of 8 bits, and scales [n, groups].
template <class T>
struct EightGroups {
  using Element = T;
  using Weights = QuantisedWeights<T, float>;
  static constexpr bool kScalesRows = false, kHasNumbers = true, kHasZeros = false;
  template <int Steps>
  static __device__ constexpr StageRow row() {
    return {16, 4 * Steps, Steps == 1 ? 80 : 304};  // 8 scales behind 256 weights, and an odd number of 16 bytes
  }
  template <int Steps>
  static __device__ __forceinline__ size_t offset(int stage, int unit) {
    return EightsOfRow<T>::template offset<Steps>(stage, unit);
  }
  static __device__ __forceinline__ size_t row_bytes(const Weights& of) { return of.k; }

  float scale[2][2];  // of each half of a step, of two rows
  const float* scales;
  int apart;
  RowGroups groups;

  __device__ __forceinline__ void start(const Weights& of, int row, int step) {
    groups.start(of.k / 32 / of.parts, of.parts, step);
    row = min(row, of.n - 1), apart = min(8, of.n - 1 - row) * of.parts;
    scales = of.scales + static_cast<size_t>(row) * of.parts;
  }
  __device__ __forceinline__ void begin_stage() { groups.begin_stage(); }
  __device__ __forceinline__ void request() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = groups.next();
#pragma unroll
      for (int i = 0; i < 2; ++i) scale[half][i] = __ldg(scales + at + i * apart);
    }
  }

  template <int Steps>
  __device__ __forceinline__ void fragments(const unsigned char* from, int step, int half, int t,
                                            unsigned (&a)[2][4]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned char* const here = from + 8 * i * row<Steps>().pitch;
      float factor;
      if constexpr (Steps == 1) {
        factor = half == 0 ? scale[0][i] : scale[1][i];
      } else {
        factor = reinterpret_cast<const float*>(here + 64 * Steps)[groups.from_first(2 * step + half)];
      }
#pragma unroll
      for (int c = 0; c < 4; ++c)
        a[c / 2][2 * (c % 2) + i] =
            scaled_pair<T>(half_pair_of_int8(spread(short_at(here + 64 * step + 32 * half + 8 * c + 2 * t))), factor, 0.0f);
    }
  }
};

}  // namespace cuda_kernels
