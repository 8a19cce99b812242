// C = A B + residual for rows of A [rows, k] that are sorted by group, each group with a matrix of its own: of B
// [groups, k, n], or weights [groups, n, k]. f16, bf16 or f32, accumulated in f32, on the tensor cores of sm_80 and later.
// offsets[g] is where group g ends; groups may be empty, and rows behind the last one are the residual, or zero. The
// residual [rows, n] may be absent (null). Any sizes; the fast path has rows of whole 16 bytes at aligned addresses.
//
// This is the product of a mixture of experts, whose rows a router sorts by expert. How many rows an expert gets is known
// on the GPU alone, so the grid has as many tiles as there may be: rows / TileM, and one more for each group, which may end
// within a tile. Each warp finds the block's group from the offsets (../include/groups.cuh); blocks without one end at once.
//
// A block computes one tile as in gemm_sm80.cu, or gemm_f32.cu, whose mainloop and epilogue it has, with the group's first
// row and matrix in place of the product's.
//
// Memory traffic: each matrix that has rows is read rows / TileM times, A n / TileN times, C is written once. Blocks that run
// at the same time compute adjacent tiles (threadblock swizzle), so that all but the first reads hit the L2 cache.

#include "../include/activation.cuh"
#include "../include/groups.cuh"
#include "../include/multiply.cuh"
#include "../include/tile.cuh"

namespace cuda_kernels {

template <class T, bool IsWeights, int TileM, int TileN, int TileK, int Stages, int WarpsM, int WarpsN, int WarpsK>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN * WarpsK) grouped(const T* __restrict__ a,
                                                                         const T* __restrict__ b,
                                                                         const int* __restrict__ offsets,
                                                                         const T* __restrict__ residual,
                                                                         T* __restrict__ c,
                                                                         int rows,
                                                                         int groups,
                                                                         int n,
                                                                         int k,
                                                                         int tiles) {
  using Mainloop = MainloopSm80<T, IsWeights, TileM, TileN, TileK, Stages, WarpsM, WarpsN, WarpsK>;
  extern __shared__ __align__(128) unsigned char stages[];
  typename Mainloop::Tile tile(tiles * TileM, n);
  const Group group = group_of<TileM>(offsets, groups, rows, tile.m / TileM);
  if (group.rows == 0) return;
  tile.number = 0;
  tile.m = group.tile * TileM;
  a += static_cast<long long>(group.start) * k;
  c += static_cast<long long>(group.start) * n;
  if (residual != nullptr) residual += static_cast<long long>(group.start) * n;
  // Without weights no step is taken.
  const int depth = group.number < groups ? k : 0;
  b += static_cast<long long>(depth == 0 ? 0 : group.number) * n * k;
  const Mainloop mainloop(a, b, tile, group.rows, n, depth, stages);
  float accumulators[Mainloop::rows][Mainloop::columns][4] = {};
  if constexpr (sizeof(T) == 4) {
    if (multiply<false>(mainloop, accumulators)) multiply<true>(mainloop, accumulators);
  } else {
    Mainloop(mainloop).run(Multiply<T, Mainloop::rows, Mainloop::columns>{accumulators});
  }
  epilogue<Mainloop>(Identity{}, accumulators, stages, static_cast<const T*>(nullptr), residual, c, tile, group.rows, n);
}

}  // namespace cuda_kernels
