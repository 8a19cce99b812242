// Products with weights of 8-bit floats (e4m3), y = x W^T of x [batch, k] and W [n, k], for x of f16 and bf16 and few
// rows of it. Scales in f32, each for an equal part of W's rows: one for all, or one for each row. Weights become
// 16-bit floats exactly, tensor cores accumulate in f32, and the sum of a row is multiplied by its scale, in f32.
//
// Reading the weights takes all the time. They go from memory to registers, 16 bytes a lane and load, and bypass the L1
// cache, which keeps x; no shared memory, and no barrier until the final reduction. Occupancy hides the latency: eight or
// more small blocks on a multiprocessor, 64 bytes in flight for each lane, and each pair of rows reloaded as soon as its
// registers are free. The hardware schedules blocks as multiprocessors become idle, which balances better than any static
// division of the rows.
//
// One row of x, `quantised_8bit_row`: a warp has 512 of k of 4 rows of W, the lane of fragment place (g, t) those from
// 64 g + 16 t on. A's rows g and g + 8 are such parts of *two* rows of W, and B's column g is the same part of x, which
// is what the lane loads itself. Of the products D only the diagonal is of use, and adds up to the result:
//
//   A [16, 16]: rows 0 to 7    a row of W, cut in 8     B: x, cut in 8      D: * .
//               rows 8 to 15   the next row of W                               . *   ...
//
// More rows of x, `quantised_8bit_few`: A's rows are rows of W, and B's columns are rows of x; the lane at (g, t) has 16
// of k, those from 16 t on, of rows g and g + 8 of W and of column g of x. The order of k does not matter as long as it is
// the same for both, so four MMAs take 4 of these each.
//
// Memory traffic: each weight once, a byte. x once for each block, from the L1 or L2 cache: 4 rows of W for one row of
// x, 16 to 64 for more.

#include <cuda_fp8.h>

#include "../include/mma.cuh"
#include "../include/pack.cuh"
#include "../include/quantised_pairs.cuh"
#include "../include/warp.cuh"

namespace cuda_kernels {

// Sixteen weights at an aligned address. They are used once, so they bypass the L1 cache, which keeps x.
__device__ __forceinline__ uint4 load_weights(const unsigned char* from) {
  uint4 bits;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(from));
  return bits;
}

// Where a 16-bit type has the bits of an e4m3. Its exponent has another bias, so a factor is missing.
template <class T>
struct Place;

template <>
struct Place<__half> {
  static constexpr unsigned kShift = 7, kMask = 0xbf80bf80, kFactor = 0x5c005c00;  // 2^8
};

template <>
struct Place<__nv_bfloat16> {
  static constexpr unsigned kShift = 4, kMask = 0x87f087f0, kFactor = 0x7b807b80;  // 2^120
};

// The four e4m3 of a word as two pairs.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
constexpr bool kKeepsNaN = true;

__device__ __forceinline__ void expand(__half, unsigned word, unsigned& first, unsigned& second) {
  asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %2;\ncvt.rn.f16x2.e4m3x2 %0, low;\n"
      "cvt.rn.f16x2.e4m3x2 %1, high;\n}"
      : "=r"(first), "=r"(second)
      : "r"(word));
}

// Through f32, of which bf16 is the upper half: that needs less of the integer units, the bottleneck here, than moving
// bits.
__device__ __forceinline__ void expand(__nv_bfloat16, unsigned word, unsigned& first, unsigned& second) {
  unsigned halves[2];
  expand(__half(), word, halves[0], halves[1]);
  const auto upper_halves = [](unsigned pair) {
    __half2 both;
    memcpy(&both, &pair, sizeof(both));
    const float2 wide = __half22float2(both);
    return __byte_perm(__float_as_uint(wide.x), __float_as_uint(wide.y), 0x7632);
  };
  first = upper_halves(halves[0]), second = upper_halves(halves[1]);
}
#else
constexpr bool kKeepsNaN = false;

template <class T>
__device__ __forceinline__ void expand(T, unsigned word, unsigned& first, unsigned& second) {
  // Each byte, and one of copies of its sign.
  asm("prmt.b32 %0, %1, 0, 0x9180;" : "=r"(first) : "r"(word));
  asm("prmt.b32 %0, %1, 0, 0xb3a2;" : "=r"(second) : "r"(word));
  first = Two<T>::mul(first << Place<T>::kShift & Place<T>::kMask, Place<T>::kFactor);
  second = Two<T>::mul(second << Place<T>::kShift & Place<T>::kMask, Place<T>::kFactor);
}
#endif

__device__ __forceinline__ bool has_nan(const uint4& bits) {
  unsigned found = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) found |= (word_of(bits, i) & 0x7f7f7f7f) + 0x01010101;
  return (found & 0x80808080) != 0;
}

// What weights are: integers or e4m3, with scales of groups along k, or of rows.
template <class T, class Number, bool HasGroups>
struct Kind {
  using Element = T;
  using Weight = Number;
  static constexpr bool kHasGroups = HasGroups;

  // The four weights of a word as two pairs.
  static __device__ __forceinline__ void pairs(unsigned word, float scale, unsigned& first, unsigned& second) {
    if constexpr (kIsInteger<Number>) {
      const unsigned low = __byte_perm(word, 0, 0x4140), high = __byte_perm(word, 0, 0x4342);
      if constexpr (HasGroups) {
        first = scaled_pair<T>(half_pair_of_int8(low), scale, 0.0f);
        second = scaled_pair<T>(half_pair_of_int8(high), scale, 0.0f);
      } else {
        first = pair_of_int8<T>(low), second = pair_of_int8<T>(high);
      }
    } else {
      static_assert(!HasGroups, "scales of e4m3 are of rows");
      expand(T(), word, first, second);
    }
  }
};

// Sixteen weights of a row, and their scale, if they have one of their own.
struct Taken {
  uint4 bits;
  float scale;
};

// c += a b for 16 weights a lane in two rows, the upper and the lower rows of A, and 16 of x, as B, in Columns / 8 times
// 8 columns.
template <class Of, int Eights>
__device__ __forceinline__ void multiply_add_weights(
    float (&c)[Eights][4], const Taken& upper, const Taken& lower, const uint4 (&x)[Eights][2]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    unsigned a[4];
    Of::pairs(word_of(upper.bits, i), upper.scale, a[0], a[2]);
    Of::pairs(word_of(lower.bits, i), lower.scale, a[1], a[3]);
    if (!kIsInteger<typename Of::Weight> && !kKeepsNaN && i == 0) {
      if (has_nan(upper.bits)) a[0] = 0x7fff7fff;
      if (has_nan(lower.bits)) a[1] = 0x7fff7fff;
    }
#pragma unroll
    for (int e = 0; e < Eights; ++e) {
      const uint4& part = x[e][i / 2];
      const unsigned b[2] = {i % 2 == 0 ? part.x : part.z, i % 2 == 0 ? part.y : part.w};
      mma(typename Of::Element(), c[e], a, b);
    }
  }
}

// A matrix of weights. `parts` is that of groups in a row, or of parts of the rows, with a scale.
template <class Of>
struct Matrix {
  const typename Of::Weight* weight;
  const float* scales;
  int n, k, parts;

  // The sixteen from `at` on, or zeros past the end of k. Rows past the end repeat the last row.
  __device__ __forceinline__ Taken take(int row, int at, int group_size) const {
    row = min(row, n - 1);
    const auto* const from = reinterpret_cast<const unsigned char*>(weight) + static_cast<size_t>(row) * k + at;
    Taken taken{at < k ? load_weights(from) : uint4{}, 1.0f};
    if constexpr (Of::kHasGroups)
      taken.scale = __ldg(scales + static_cast<size_t>(row) * parts + min(at / group_size, parts - 1));
    return taken;
  }
  // Of sums.
  __device__ __forceinline__ float row_scale(int row) const {
    if constexpr (Of::kHasGroups) return 1.0f;
    row = min(row, n - 1);
    return scales[parts == n ? row : row / (n / parts)];
  }
  __device__ __forceinline__ float value(int row, int at, int group_size) const {
    const float plain = static_cast<float>(weight[static_cast<size_t>(row) * k + at]);
    return Of::kHasGroups ? plain * scales[static_cast<size_t>(row) * parts + at / group_size] : plain;
  }
};

// The fallback for unaligned addresses: element by element, one warp a result, round-robin.
template <int Rows, int Columns, int Warps, class Of>
__device__ __forceinline__ void multiply_unaligned(const typename Of::Element* __restrict__ x, const Matrix<Of>& of,
                                                   typename Of::Element* __restrict__ y, int batch) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group_size = of.k / of.parts;
  for (int i = warp; i < Rows * Columns; i += Warps) {
    const int row = blockIdx.x * Rows + i % Rows, column = blockIdx.y * Columns + i / Rows;
    if (row >= of.n || column >= batch) continue;
    float sum = 0.0f;
    for (int at = lane; at < of.k; at += 32)
      sum += of.value(row, at, group_size) * static_cast<float>(x[static_cast<size_t>(column) * of.k + at]);
    sum = sum_of(sum, 32);
    if (lane == 0)
      y[static_cast<size_t>(column) * of.n + row] = static_cast<typename Of::Element>(sum * of.row_scale(row));
  }
}

// A block: Rows rows of W and blockIdx.y's row of x. Its warps take 512 of k each, round-robin.
template <class T, class Number, bool HasGroups, int Rows, int Warps, int Resident>
__global__ void __launch_bounds__(32 * Warps, Resident) quantised_8bit_row(const T* __restrict__ x,
                                                                           const Number* __restrict__ weight,
                                                                           const float* __restrict__ scales,
                                                                           T* __restrict__ y,
                                                                           int batch,
                                                                           int n,
                                                                           int k,
                                                                           int parts) {
  constexpr int kTake = 512, kTurns = (Rows + Warps - 1) / Warps;
  using Of = Kind<T, Number, HasGroups>;
  __shared__ float found[Rows][8 * Warps];
  const Matrix<Of> of{weight, scales, n, k, parts};
  if (!aligned(x, weight)) {
    multiply_unaligned<Rows, 1, Warps>(x, of, y, batch);
    return;
  }
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int first_row = blockIdx.x * Rows, group_size = HasGroups ? k / parts : 0;
  x += static_cast<size_t>(blockIdx.y) * k;
  y += static_cast<size_t>(blockIdx.y) * n;

  Taken taken[Rows];
  const auto take = [&](int row, int at) { taken[row] = of.take(first_row + row, at, group_size); };
  int at = kTake * warp + 16 * lane;
#pragma unroll
  for (int row = 0; row < Rows; ++row) take(row, at);
  // The scales are needed last; prefetch them now.
  float scale[kTurns];
#pragma unroll
  for (int i = 0; i < kTurns; ++i) scale[i] = of.row_scale(first_row + warp + i * Warps);

  float sums[Rows / 2][1][4] = {};
  for (bool is_last = kTake * warp >= k; !is_last;) {
    uint4 b[1][2] = {};
    if (at < k) b[0][0] = load_bits(x + at), b[0][1] = load_bits(x + at + 8);
    at += kTake * Warps;
    is_last = at - 16 * lane >= k;
#pragma unroll
    for (int pair = 0; pair < Rows / 2; ++pair) {
      multiply_add_weights<Of>(sums[pair], taken[2 * pair], taken[2 * pair + 1], b);
      if (!is_last) take(2 * pair, at), take(2 * pair + 1, at);
    }
  }

  // Lane (g, g / 2) has element g of the diagonal.
#pragma unroll
  for (int row = 0; row < Rows; ++row) {
    const float(&sum)[4] = sums[row / 2][0];
    if (t == g / 2) found[row][8 * warp + g] = g % 2 == 0 ? sum[row % 2 * 2] : sum[row % 2 * 2 + 1];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kTurns; ++i) {
    const int row = warp + i * Warps;
    if (row >= Rows) break;
    float sum = 0.0f;
#pragma unroll
    for (int part = lane; part < 8 * Warps; part += 32) sum += found[row][part];
    sum = sum_of(sum, 32);
    if (lane == 0 && first_row + row < n) y[first_row + row] = static_cast<T>(sum * scale[i]);
  }
}

// A block: 16 * Tiles rows of W and Columns of x. Its warps take 64 * Pieces of k each, round-robin.
template <class T, class Number, bool HasGroups, int Tiles, int Columns, int Warps, int Pieces, int Resident,
          class... Scratch>
__global__ void __launch_bounds__(32 * Warps, Resident) quantised_8bit_few(const T* __restrict__ x,
                                                                           const Number* __restrict__ weight,
                                                                           const float* __restrict__ scales,
                                                                           T* __restrict__ y,
                                                                           Scratch...,
                                                                           int batch,
                                                                           int n,
                                                                           int k,
                                                                           int parts) {
  constexpr int kRows = 16 * Tiles, kEights = Columns / 8, kTake = 64 * Pieces;
  constexpr int kPitch = kRows + 4;  // of sums in shared memory, so that lanes write to different banks
  using Of = Kind<T, Number, HasGroups>;
  __shared__ float found[Warps * Columns * kPitch];
  const Matrix<Of> of{weight, scales, n, k, parts};
  if (!aligned(x, weight)) {
    multiply_unaligned<kRows, Columns, Warps>(x, of, y, batch);
    return;
  }
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int first_row = blockIdx.x * kRows, first_column = blockIdx.y * Columns;
  const int group_size = HasGroups ? k / parts : 0;

  // The rows of x are padded with zeros, and k, too.
  Taken taken[Pieces][Tiles][2];
  uint4 b[Pieces][kEights][2];
  const auto take_weights = [&](int piece, int at) {
#pragma unroll
    for (int i = 0; i < 2 * Tiles; ++i) taken[piece][i / 2][i % 2] = of.take(first_row + 8 * i + g, at, group_size);
  };
  const auto take_columns = [&](int piece, int at) {
#pragma unroll
    for (int e = 0; e < kEights; ++e) {
      const int column = first_column + 8 * e + g;
      const T* const from = x + static_cast<size_t>(column) * k + at;
      const bool is_there = at < k && column < batch;
      b[piece][e][0] = is_there ? load_bits(from) : uint4{};
      b[piece][e][1] = is_there ? load_bits(from + 8) : uint4{};
    }
  };
  int at = kTake * warp + 16 * t;
#pragma unroll
  for (int piece = 0; piece < Pieces; ++piece) take_weights(piece, at + 64 * piece);
#pragma unroll
  for (int piece = 0; piece < Pieces; ++piece) take_columns(piece, at + 64 * piece);
  static_assert(32 * Warps % kRows == 0, "all results of a thread are of the same row");
  const int row = threadIdx.x % kRows;
  const float scale = of.row_scale(first_row + row);  // needed last, loaded now

  float sums[Tiles][kEights][4] = {};
  for (bool is_last = kTake * warp >= k; !is_last;) {
    at += kTake * Warps;
    is_last = at - 16 * t >= k;
#pragma unroll
    for (int piece = 0; piece < Pieces; ++piece) {
#pragma unroll
      for (int tile = 0; tile < Tiles; ++tile)
        multiply_add_weights<Of>(sums[tile], taken[piece][tile][0], taken[piece][tile][1], b[piece]);
      if (!is_last) take_weights(piece, at + 64 * piece), take_columns(piece, at + 64 * piece);
    }
  }

#pragma unroll
  for (int i = 0; i < 4 * kEights * Tiles; ++i) {
    const int tile = i / 4 / kEights, e = i / 4 % kEights, column = 8 * e + 2 * t + i % 2;
    found[(warp * Columns + column) * kPitch + 16 * tile + g + i % 4 / 2 * 8] = sums[tile][e][i % 4];
  }
  __syncthreads();
  if (first_row + row >= n) return;
  for (int i = threadIdx.x / kRows; i < min(Columns, batch - first_column); i += 32 * Warps / kRows) {
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < Warps; ++w) sum += found[(w * Columns + i) * kPitch + row];
    y[static_cast<size_t>(first_column + i) * n + first_row + row] = static_cast<T>(sum * scale);
  }
}

}  // namespace cuda_kernels
