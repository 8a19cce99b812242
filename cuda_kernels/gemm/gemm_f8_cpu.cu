// C = scales_a scales_b (A B) + bias as in gemm_f8.cu, for CPUs: the implementation for the target `cpu`, with the tiles of
// gemm_cpu.cu. Numbers become f32 on the way to shared memory.
//
// Memory traffic: A is read by n / 32 blocks, all but the first from the cache, and B by m / (8 * Warps).

#include "../include/f8.cuh"
#include "../include/product_cpu.cuh"

namespace cuda_kernels {

template <class Out>
struct FinishScaled {
  Scales of_a, of_b;
  const Out* bias;
  Out* c;
  int first_m, n;

  __device__ __forceinline__ void operator()(float value, int row, int column) const {
    value = value * of_a[first_m + row] * of_b[column];
    if (bias != nullptr) value += static_cast<float>(bias[column]);
    c[static_cast<long long>(first_m + row) * n + column] = static_cast<Out>(value);
  }
};

template <class A, class B, class Out, int Warps, int TileK>
__global__ void __launch_bounds__(kLanes * Warps) gemm_f8_cpu(const A* __restrict__ a,
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
  constexpr int tile_m = Warps * kRows;
  const int tiles_n = (n + kLanes - 1) / kLanes, first_m = blockIdx.x / tiles_n * tile_m;
  compute_tile<true, Warps, TileK>(
      a + static_cast<long long>(first_m) * k, b, blockIdx.x % tiles_n * kLanes, min(m - first_m, tile_m), n, k,
      FinishScaled<Out>{{scales_a, m, parts_a}, {scales_b, n, parts_b}, bias, c, first_m, n});
}

}  // namespace cuda_kernels
