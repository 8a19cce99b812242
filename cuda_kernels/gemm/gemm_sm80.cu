// C = act(A B + bias + residual) for A [batch, m, k] and B [batch, k, n], or weights [batch, n, k], of f16 or
// bf16, accumulated in f32, on the tensor cores of sm_80 and later. Bias [n] and residual [batch, m, n] may each be
// absent (null). Any sizes; the fast path has rows of whole 16 bytes at aligned addresses.
//
// A block computes one tile of C, TileM x TileN. The mainloop goes along k in steps of TileK, with the accumulators in
// registers, as fragments of mma.sync (../include/mma.cuh): each warp has a warp tile of (TileM / WarpsM) x
// (TileN / WarpsN). Where a result has few tiles, WarpsK warps have the same warp tile and slice the k of every step
// (sliced-K); the epilogue reduces their accumulators.
//
// The multistage pipeline, which the products of f32 have too (../include/tile.cuh):
//   cp.async    global memory -> one of `Stages` stages in shared memory, Stages - 1 steps ahead;
//   ldmatrix    shared memory -> registers, 16 of k ahead, double-buffered fragments;
//   mma.sync    registers -> accumulators. A warp tile of 64 x 64 is 32 of them for 8 ldmatrix.
//
// Memory traffic: A is read by n / TileN blocks and B by m / TileM, C is written once. Threadblock swizzle: blocks that
// run at the same time compute adjacent tiles, in bands 8 high, so that all but the first of these reads hit the L2
// cache. From there a tile needs (TileM + TileN) * TileK * 2 bytes for 2 * TileM * TileN * TileK operations: at
// 128 x 256, 85 operations a byte.

#include "../include/activation.cuh"
#include "../include/multiply.cuh"
#include "../include/tile.cuh"

namespace cuda_kernels {

template <class In, class Out, class Activation, bool IsWeights, int TileM, int TileN, int TileK, int Stages,
          int WarpsM, int WarpsN, int WarpsK, class... Numbers>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN * WarpsK) gemm(const In* __restrict__ a,
                                                                      const In* __restrict__ b,
                                                                      const In* __restrict__ bias,
                                                                      const Out* __restrict__ residual,
                                                                      Out* __restrict__ c,
                                                                      int batch,
                                                                      int m,
                                                                      int n,
                                                                      int k,
                                                                      Numbers... numbers) {
  using Mainloop = MainloopSm80<In, IsWeights, TileM, TileN, TileK, Stages, WarpsM, WarpsN, WarpsK>;
  extern __shared__ __align__(128) unsigned char stages[];
  const typename Mainloop::Tile tile(m, n);
  Mainloop mainloop(a, b, tile, m, n, k, stages);
  float accumulators[Mainloop::rows][Mainloop::columns][4] = {};
  mainloop.run(Multiply<In, Mainloop::rows, Mainloop::columns>{accumulators});
  epilogue<Mainloop>(Activation{numbers...}, accumulators, stages, bias, residual, c, tile, m, n);
}

}  // namespace cuda_kernels
