// C = scales_a scales_b (A B) + bias for A [m, k] and weights B [n, k] of 8-bit floats, e4m3 or e5m2 each, on the tensor
// cores of sm_80 and later, which multiply f16: every such float is one. Scales of f32, each for an equal part of the rows
// of A, or of B: one for all, or one for each. Bias [n] may be absent (null). C is of f32, f16 or bf16. Any sizes; the fast
// path has rows of whole 16 bytes at aligned addresses.
//
// The pipeline is that of gemm_sm80.cu, with rows of bytes: ldmatrix moves 16 of k of a row, and numbers become f16 in
// registers (../include/f8.cuh). Products are exact and sums are f32.
//
// Memory traffic: A is read by n / TileN blocks and B by m / TileM, a byte each; C is written once.

#include "../include/activation.cuh"
#include "../include/f8.cuh"
#include "../include/tile.cuh"

namespace cuda_kernels {

template <class A, class B, class Out, int TileM, int TileN, int TileK, int Stages, int WarpsM, int WarpsN, int WarpsK>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN * WarpsK) gemm_f8(const A* __restrict__ a,
                                                                         const B* __restrict__ b,
                                                                         const float* __restrict__ scales_a,
                                                                         const float* __restrict__ scales_b,
                                                                         const Out* __restrict__ bias,
                                                                         Out* __restrict__ c,
                                                                         int m,
                                                                         int n,
                                                                         int k,
                                                                         int parts_a,
                                                                         int parts_b) {
  using Mainloop = MainloopSm80<unsigned char, true, TileM, TileN, TileK, Stages, WarpsM, WarpsN, WarpsK>;
  extern __shared__ __align__(128) unsigned char stages[];
  const typename Mainloop::Tile tile(m, n);
  Mainloop mainloop(reinterpret_cast<const unsigned char*>(a), reinterpret_cast<const unsigned char*>(b), tile, m, n, k,
                    stages);
  float accumulators[Mainloop::rows][Mainloop::columns][4] = {};
  mainloop.run(MultiplyF8<A, B, Mainloop::rows, Mainloop::columns>{accumulators});
  const int warp = threadIdx.x / 32;
  const int row = tile.m + warp / WarpsN % WarpsM * Mainloop::rows * 16;
  const int column = tile.n + warp % WarpsN * Mainloop::columns * 8;
  FragmentScales<Mainloop::columns> scales;
  scales.load_columns({scales_b, n, parts_b}, column);
#pragma unroll
  for (int i = 0; i < Mainloop::rows; ++i) {
    scales.load_rows({scales_a, m, parts_a}, row + i * 16);
    scales.apply(accumulators[i]);
  }
  epilogue<Mainloop>(Identity{}, accumulators, stages, bias, static_cast<const Out*>(nullptr), c, tile, m, n);
}

}  // namespace cuda_kernels
