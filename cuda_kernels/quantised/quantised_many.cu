// Products with quantised weights for many rows of x, y = x W^T, on warp-level MMA: for sm_80 and later GPUs, and for CPUs.
// The memory layouts of W are those of ../include/quantised_formats.cuh.
//
// A block has a tile of y^T, 16 * Tiles * Tall rows of W by 8 * Eights * Wide rows of x, of which each of Tall * Wide warps
// has Tiles times Eights products of 16 x 8. Stages hold 64 of k: x, swizzled, and W as it is in memory; a warp makes
// floats of W in its registers, A, and loads x by ldmatrix, B. Small tiles split k, too: of Deep times as many warps each
// takes a half of a step, and their sums are added at the end.
//
// Memory traffic: W once for each tile's rows of x, and x once for each tile's rows of W, from the L2 cache.

#include "../include/quantised_many.cuh"

namespace cuda_kernels {

template <class Format, int Tiles, int Tall, int Eights, int Wide, int Deep, int Stages>
__device__ __forceinline__ void many(const typename Format::Element* __restrict__ x, const typename Format::Weights& of,
                                     typename Format::Element* __restrict__ y, int m) {
  using T = typename Format::Element;
  constexpr int rows = 16 * Tiles * Tall, columns = 8 * Eights * Wide, threads = 32 * Tall * Wide * Deep;
  constexpr int x_bytes = columns * 128, weight_pitch = Format::template row<1>().pitch;
  constexpr int stage_bytes = x_bytes + rows * weight_pitch;
  constexpr int pitch = rows + 8;  // of the tile in shared memory, for the epilogue
  static_assert(Deep <= 2 && x_bytes % 16 == 0 && rows * weight_pitch % 16 == 0, "two halves of a step");
  static_assert(columns * (Deep == 1 ? pitch * 2 : (rows + 4) * 4) <= Stages * stage_bytes, "room for the tile");
  extern __shared__ __align__(128) unsigned char memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int tall = warp % Tall, wide = warp / Tall % Wide, deep = warp / Tall / Wide;

  const ManyTiles tiles(of.n, m, rows, columns);
  int row, column;
  tiles.place(blockIdx.x, row, column);
  row *= rows, column *= columns;
  StageCopier<Format, rows, columns, threads> copier(x, of);
  copier.start(x, of, m, row, column);
  const int steps = (of.k + kStepK - 1) / kStepK;
  const auto fetch = [&](int step) {
    unsigned char* const to = memory + step % Stages * stage_bytes;
    if (step < steps) {
      if (copier.whole) {
        copier.copy_weights(threadIdx.x, step, to + x_bytes);
        copier.copy_x(threadIdx.x, step, to);
      } else {
        copier.copy_any(threadIdx.x, step, to, to + x_bytes);
      }
    }
    cp_async_commit();
  };
#pragma unroll 1
  for (int i = 0; i < Stages - 1; ++i) fetch(i);

  const int own_row = 16 * Tiles * tall + g, own_column = 8 * Eights * wide;
  Format formats[Tiles];
#pragma unroll
  for (int i = 0; i < Tiles; ++i) {
    formats[i].start(of, row + own_row + 16 * i, 0);
    formats[i].request();
  }
  float sums[Tiles][Eights][4] = {};
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    cp_async_wait<Stages - 2>();
    __syncthreads();
    fetch(step + Stages - 1);
    const unsigned char* const here = memory + step % Stages * stage_bytes;
    const unsigned of_x = shared_address(here);
#pragma unroll
    for (int part = 0; part < 2 / Deep; ++part) {
      const int half = Deep == 2 ? deep : part;
      unsigned a[Tiles][2][4];
#pragma unroll
      for (int i = 0; i < Tiles; ++i) {
        formats[i].template fragments<1>(here + x_bytes + (own_row + 16 * i) * weight_pitch, 0, half, t, a[i]);
        if (part == 2 / Deep - 1) formats[i].request();
      }
#pragma unroll
      for (int e = 0; e < Eights; ++e) {
        unsigned b[4];
        ldmatrix(b, of_x + swizzled(own_column + 8 * e + lane % 8, 4 * half + lane / 8));
#pragma unroll
        for (int i = 0; i < Tiles; ++i) {
          mma(T(), sums[i][e], a[i][0], {b[0], b[1]});
          mma(T(), sums[i][e], a[i][1], {b[2], b[3]});
        }
      }
    }
  }

  cp_async_wait<0>();
  __syncthreads();  // the stages are no longer needed
  if constexpr (Deep == 2) {
    float* const other = reinterpret_cast<float*>(memory);
#pragma unroll
    for (int turn = 1; turn >= 0; --turn) {  // one half of the warps writes its sums, and the other adds them to its own
      if (deep == turn) {
#pragma unroll
        for (int i = 0; i < Tiles; ++i)
#pragma unroll
          for (int e = 0; e < Eights; ++e)
#pragma unroll
            for (int s = 0; s < 4; ++s) {
              float& place = other[(own_column + 8 * e + 2 * t + s % 2) * (rows + 4) + own_row + 16 * i + s / 2 * 8];
              if (turn == 1) {
                place = sums[i][e][s];
              } else {
                sums[i][e][s] += place;
              }
            }
      }
      __syncthreads();
    }
  }
  T* const tile = reinterpret_cast<T*>(memory);
  if (deep == 0) {
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
      float scale[2] = {1.0f, 1.0f};
      if constexpr (Format::kScalesRows) {
#pragma unroll
        for (int h = 0; h < 2; ++h) scale[h] = Format::row_scale(of, min(row + own_row + 16 * i + 8 * h, of.n - 1));
      }
#pragma unroll
      for (int e = 0; e < Eights; ++e)
#pragma unroll
        for (int s = 0; s < 4; ++s)
          tile[(own_column + 8 * e + 2 * t + s % 2) * pitch + own_row + 16 * i + s / 2 * 8] =
              static_cast<T>(sums[i][e][s] * scale[s / 2]);
    }
  }
  __syncthreads();
  const bool packs = of.n % 8 == 0 && aligned(y);
  for (int i = threadIdx.x; i < columns * (rows / 8); i += threads) {
    const int c = i / (rows / 8), r = i % (rows / 8) * 8;
    if (column + c < m && row + r < of.n)
      store_eight(y + static_cast<size_t>(column + c) * of.n, load_bits(tile + c * pitch + r), row + r, of.n, packs);
  }
}

// Of layouts without scales of their own, with scales, and with zeros. `parts` is 0 where there is none. The
// scratch memory is that of the kernel for warpgroups.
template <class Format, int Tiles, int Tall, int Eights, int Wide, int Deep, int Stages>
__global__ void __launch_bounds__(32 * Tall * Wide * Deep, 1)
    quantised_many_blocks(const typename Format::Element* x, const unsigned char* weight, typename Format::Element* y,
                          float*, int batch, int n, int k, int parts) {
  many<Format, Tiles, Tall, Eights, Wide, Deep, Stages>(x, {weight, nullptr, nullptr, n, k, parts}, y, batch);
}

template <class Format, class Byte, class Scale, int Tiles, int Tall, int Eights, int Wide, int Deep, int Stages>
__global__ void __launch_bounds__(32 * Tall * Wide * Deep, 1)
    quantised_many(const typename Format::Element* x, const Byte* weight, const Scale* scales,
                   typename Format::Element* y, float*, int batch, int n, int k, int parts) {
  many<Format, Tiles, Tall, Eights, Wide, Deep, Stages>(
      x, {reinterpret_cast<const unsigned char*>(weight), scales, nullptr, n, k, parts}, y, batch);
}

template <class Format, int Tiles, int Tall, int Eights, int Wide, int Deep, int Stages>
__global__ void __launch_bounds__(32 * Tall * Wide * Deep, 1)
    quantised_many_zeros(const typename Format::Element* x, const unsigned char* weight,
                         const typename Format::Element* scales, const typename Format::Element* zeros,
                         typename Format::Element* y, float*, int batch, int n, int k, int parts) {
  many<Format, Tiles, Tall, Eights, Wide, Deep, Stages>(x, {weight, scales, zeros, n, k, parts}, y, batch);
}

}  // namespace cuda_kernels
