// C = act(A B + bias + residual) as in gemm_sm80.cu, for CPUs: the implementation for the target `cpu`. Tensor cores are
// emulated there; a CPU is good at adjacent lanes that multiply and add f32. There a warp is one thread whose registers
// are vectors of 32 numbers, and shared memory is the part of the cache that a block works in.
//
// A block computes a tile of C, 8 * Warps rows high and 32 columns wide, along k in steps of TileK:
//   - A step's tiles of A and B go to shared memory as f32, B as rows of 32 columns whatever its layout: conversion and
//     bounds are handled once, for all rows of the tile. Both are read contiguously. Weights, [n, k], are transposed on
//     the way, number by number, which is the most expensive part: so tiles are high.
//   - Each warp then accumulates 8 rows: a vector of B for 8 numbers of A that all lanes share.
//
// For few rows that would be mostly transposing B. So `gemm_few_rows_cpu` reads B once, where it lies, for up to 4
// rows at a time: of weights, lanes take neighbours of k, and their sums are added up at the end.
//
// `Read` is as what products see the numbers of A and B: rounded to TF32, where that is asked.
//
// Memory traffic: A is read by n / 32 blocks, all but the first from the cache, and B by m / (8 * Warps).

#include "../include/product_cpu.cuh"

namespace cuda_kernels {

template <class In, class Out, class Activation, bool IsWeights, int Warps, int TileK, class Read,
          class... Numbers>
__global__ void __launch_bounds__(kLanes * Warps) gemm_cpu(const In* __restrict__ a,
                                                           const In* __restrict__ b,
                                                           const In* __restrict__ bias,
                                                           const Out* __restrict__ residual,
                                                           Out* __restrict__ c,
                                                           int batch,
                                                           int m,
                                                           int n,
                                                           int k,
                                                           Numbers... numbers) {
  constexpr int tile_m = Warps * kRows;
  const int tiles_m = (m + tile_m - 1) / tile_m, tiles_n = (n + kLanes - 1) / kLanes;
  const int tile = blockIdx.x % (tiles_m * tiles_n), number = blockIdx.x / (tiles_m * tiles_n);
  const int first_m = tile / tiles_n * tile_m, first_n = tile % tiles_n * kLanes;
  const long long before = static_cast<long long>(number) * m + first_m;
  compute_tile<IsWeights, Warps, TileK>(
      reinterpret_cast<const Read*>(a) + before * k,
      reinterpret_cast<const Read*>(b) + static_cast<long long>(number) * n * k, first_n, min(m - first_m, tile_m), n, k,
      Finish<Activation, In, Out>{bias, residual == nullptr ? nullptr : residual + before * n, c + before * n, n,
                                  Activation{numbers...}});
}

// All rows of C. A block has kFewColumns columns of weights, or as many times 32 columns of a matrix.
template <class In, class Out, class Activation, bool IsWeights, class Read, class... Numbers>
__global__ void __launch_bounds__(kLanes) gemm_few_rows_cpu(const In* __restrict__ a,
                                                            const In* __restrict__ b,
                                                            const In* __restrict__ bias,
                                                            const Out* __restrict__ residual,
                                                            Out* __restrict__ c,
                                                            int batch,
                                                            int m,
                                                            int n,
                                                            int k,
                                                            Numbers... numbers) {
  constexpr int width = IsWeights ? kFewColumns : kFewColumns * kLanes;
  const int blocks = (n + width - 1) / width, number = blockIdx.x / blocks, first_n = blockIdx.x % blocks * width;
  const long long before = static_cast<long long>(number) * m;
  compute_few_rows<IsWeights>(
      reinterpret_cast<const Read*>(a) + before * k,
      reinterpret_cast<const Read*>(b) + static_cast<long long>(number) * n * k, first_n, m, n, k,
      Finish<Activation, In, Out>{bias, residual == nullptr ? nullptr : residual + before * n, c + before * n, n,
                                  Activation{numbers...}});
}

}  // namespace cuda_kernels
