// C = act(A B + bias + residual) for A [batch, m, k] and B [batch, k, n], or weights [batch, n, k], of f16 or
// bf16, in f32, on the tensor cores of sm_80 and later. Bias [n] and residual [batch, m, n] may each be absent
// (null). Any sizes; the fast way has rows of whole 16 bytes at aligned addresses.
//
// A block computes a tile of C, TileM x TileN. It goes along k in steps of TileK and keeps the tile in its
// threads' registers, as fragments of mma.sync (../include/mma.cuh): each warp has a part of (TileM / WarpsM) x
// (TileN / WarpsN). Where a result has few tiles, WarpsK warps have the same part and share the k of every step; their
// sums come together at the end.
//
// The pipeline, which the products of f32 have too (../include/tile.cuh), is three deep:
//   cp.async    global memory -> one of `Stages` stages in shared memory, Stages - 1 steps ahead;
//   ldmatrix    shared memory -> registers, 16 of k ahead, in two sets of registers;
//   mma.sync    registers -> the tile. 64 x 64 of a warp are 32 of them for 8 ldmatrix.
//
// Memory traffic: A is read by n / TileN blocks and B by m / TileM, C is written once. Blocks that run at the
// same time compute neighbouring tiles, 8 high, so that all but the first of these reads are of the L2 cache. From there
// a tile needs (TileM + TileN) * TileK * 2 bytes for 2 * TileM * TileN * TileK operations: at 128 x 256
// 85 operations a byte.

#include "../include/activation.cuh"
#include "../include/mma.cuh"
#include "../include/tile.cuh"

namespace cuda_kernels {

// Multiplies the fragments of a slice of k.
template <class In, int Rows, int Columns>
struct Multiply {
  float (&sums)[Rows][Columns][4];

  __device__ __forceinline__ void operator()(const unsigned (&a)[Rows][4], const unsigned (&b)[Columns][2]) const {
#pragma unroll
    for (int i = 0; i < Rows; ++i)
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        const int turned = i % 2 == 0 ? j : Columns - 1 - j;  // next to the last one, in B or in A
        multiply_add(In(), sums[i][turned], a[i], b[turned]);
      }
  }
};

template <class In, class Out, class Activation, bool IsWeights, int TileM, int TileN, int TileK, int Stages,
          int WarpsM, int WarpsN, int WarpsK>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN * WarpsK) gemm(const In* __restrict__ a,
                                                                      const In* __restrict__ b,
                                                                      const In* __restrict__ bias,
                                                                      const Out* __restrict__ residual,
                                                                      Out* __restrict__ c,
                                                                      int batch,
                                                                      int m,
                                                                      int n,
                                                                      int k) {
  using Steps = Pipeline<In, IsWeights, TileM, TileN, TileK, Stages, WarpsM, WarpsN, WarpsK>;
  extern __shared__ __align__(128) unsigned char stages[];
  const typename Steps::Tile tile(m, n);
  Steps steps(a, b, tile, m, n, k, stages);
  float sums[Steps::rows][Steps::columns][4] = {};
  steps.run(Multiply<In, Steps::rows, Steps::columns>{sums});
  finish<Activation, Steps>(sums, stages, bias, residual, c, tile, m, n);
}

}  // namespace cuda_kernels
