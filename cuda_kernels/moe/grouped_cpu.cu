// C = A B + residual as in grouped.cu, for CPUs, with the tiles of gemm_cpu.cu (../include/product_cpu.cuh).
//
// `grouped_cpu` has a block for each tile that there may be, as on GPUs; `grouped_few_rows_cpu` one for some columns of a
// group, all of whose rows it computes, so that it reads each weight once.

#include "../include/groups.cuh"
#include "../include/product_cpu.cuh"

namespace cuda_kernels {

template <class T, bool IsWeights, int Warps, int TileK>
__global__ void __launch_bounds__(kLanes * Warps) grouped_cpu(const T* __restrict__ a,
                                                              const T* __restrict__ b,
                                                              const int* __restrict__ offsets,
                                                              const T* __restrict__ residual,
                                                              T* __restrict__ c,
                                                              int rows,
                                                              int groups,
                                                              int n,
                                                              int k,
                                                              int tiles) {
  constexpr int tile_m = Warps * kRows;
  const int tiles_n = (n + kLanes - 1) / kLanes;
  const Group group = group_of<tile_m>(offsets, groups, rows, blockIdx.x / tiles_n);
  if (group.rows == 0) return;
  const int first_m = group.tile * tile_m;
  const long long before = group.start + first_m;
  const bool has_weights = group.number < groups;
  compute_tile<IsWeights, Warps, TileK>(
      a + before * k, b + (has_weights ? static_cast<long long>(group.number) * n * k : 0), blockIdx.x % tiles_n * kLanes,
      min(group.rows - first_m, tile_m), n, has_weights ? k : 0,
      Finish<Identity, T, T>{nullptr, residual == nullptr ? nullptr : residual + before * n, c + before * n, n, {}});
}

template <class T, bool IsWeights>
__global__ void __launch_bounds__(kLanes) grouped_few_rows_cpu(const T* __restrict__ a,
                                                               const T* __restrict__ b,
                                                               const int* __restrict__ offsets,
                                                               const T* __restrict__ residual,
                                                               T* __restrict__ c,
                                                               int rows,
                                                               int groups,
                                                               int n,
                                                               int k,
                                                               int tiles) {
  constexpr int width = IsWeights ? kFewColumns : kFewColumns * kLanes;
  const int blocks = (n + width - 1) / width, number = blockIdx.x / blocks;
  const long long before = start_of_group(offsets, groups, rows, number);
  const int count = start_of_group(offsets, groups, rows, number + 1) - static_cast<int>(before);
  const bool has_weights = number < groups;
  compute_few_rows<IsWeights>(
      a + before * k, b + (has_weights ? static_cast<long long>(number) * n * k : 0), blockIdx.x % blocks * width, count, n,
      has_weights ? k : 0,
      Finish<Identity, T, T>{nullptr, residual == nullptr ? nullptr : residual + before * n, c + before * n, n, {}});
}

}  // namespace cuda_kernels
