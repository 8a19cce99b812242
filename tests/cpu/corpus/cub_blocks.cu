// CUB's block and warp primitives, and cooperative groups within a block.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

namespace cg = cooperative_groups;

extern "C" {
__global__ void __launch_bounds__(128) cub_row_sum(const float* __restrict__ x,
                                                   float* __restrict__ y, int cols) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  float s = 0;
  for (int i = threadIdx.x; i < cols; i += 128) s += x[(size_t)blockIdx.x * cols + i];
  float total = Reduce(storage).Sum(s);
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}
__global__ void __launch_bounds__(128) cub_scan(const int* __restrict__ x, int* __restrict__ y) {
  using Scan = cub::BlockScan<int, 128>;
  __shared__ typename Scan::TempStorage storage;
  int v = x[blockIdx.x * 128 + threadIdx.x], out;
  Scan(storage).InclusiveSum(v, out);
  y[blockIdx.x * 128 + threadIdx.x] = out;
}
__global__ void __launch_bounds__(64) cub_sort(const int* __restrict__ x, int* __restrict__ y) {
  using Sort = cub::BlockRadixSort<int, 64, 2>;
  __shared__ typename Sort::TempStorage storage;
  int keys[2] = {x[threadIdx.x * 2], x[threadIdx.x * 2 + 1]};
  Sort(storage).Sort(keys);
  y[threadIdx.x * 2] = keys[0], y[threadIdx.x * 2 + 1] = keys[1];
}
__global__ void __launch_bounds__(64) cub_warps(const int* __restrict__ x, int* __restrict__ y) {
  using Reduce = cub::WarpReduce<int>;
  using Scan = cub::WarpScan<int>;
  __shared__ typename Reduce::TempStorage reduce[2];
  __shared__ typename Scan::TempStorage scan[2];
  int warp = threadIdx.x / 32, v = x[threadIdx.x], sum, before;
  sum = Reduce(reduce[warp]).Sum(v);
  sum = __shfl_sync(0xffffffffu, sum, 0);
  Scan(scan[warp]).ExclusiveSum(v, before);
  y[threadIdx.x] = sum * 1000 + before;
}
__global__ void __launch_bounds__(128) groups(const float* __restrict__ x, float* __restrict__ y,
                                              int n) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  auto eight = cg::tiled_partition<8>(warp);
  int i = blockIdx.x * 128 + threadIdx.x;
  float v = cg::reduce(eight, i < n ? x[i] : 0.f, cg::plus<float>());
  float total = cg::reduce(warp, v, cg::plus<float>());
  __shared__ float s[4];
  if (warp.thread_rank() == 0) s[warp.meta_group_rank()] = total;
  block.sync();
  if (block.thread_rank() == 0) y[blockIdx.x] = (s[0] + s[1] + s[2] + s[3]) / 8;
}
__global__ void __launch_bounds__(64) coalesced(const int* __restrict__ x, int* __restrict__ y) {
  int v = x[threadIdx.x], r = 0;
  if (v & 1) {
    auto here = cg::coalesced_threads();
    r = here.size() * 100 + here.thread_rank() + here.shfl(v, 0) * 10000;
  }
  y[threadIdx.x] = r;
}
}
