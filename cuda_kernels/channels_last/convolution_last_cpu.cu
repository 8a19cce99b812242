// y = act(convolution(x, weight) * factor + summand + residual) as in convolution_last.cu, for CPUs: the implementation for the
// target `cpu`, where tensor cores are emulated. A warp is one thread there, whose registers are vectors of 32 numbers.
//
// A block computes 8 * Warps filters at 32 positions, along k in steps of TileK: a step's weights and what it gathers of x
// go to shared memory as f32; then each warp adds up 8 filters, a vector of positions for each weight.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../include/add_product.cuh"
#include "../include/convolution_last.cuh"

namespace cuda_kernels {

constexpr int kLanes = 32, kFilters = 8;  // of a warp's part of a tile

template <class T, int Warps, int TileK>
__global__ void __launch_bounds__(kLanes * Warps) convolution_last_cpu(CONVOLUTION_LAST_OPERANDS(T)) {
  constexpr int tile_m = Warps * kFilters;
  __shared__ float of_weight[tile_m][TileK], of_x[TileK][kLanes];
  const int of_image = out_height * out_width, positions = images * of_image, depth = rows * columns * channels;
  const int tiles_m = (filters + tile_m - 1) / tile_m, tiles_n = (positions + kLanes - 1) / kLanes;
  const int group = blockIdx.x / (tiles_m * tiles_n), tile = blockIdx.x % (tiles_m * tiles_n);
  const int first = tile % tiles_m * tile_m, there = min(filters - first, tile_m);
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes, filter = warp * kFilters;
  const int position = tile / tiles_m * kLanes + lane;
  const int number = position < positions ? position / of_image : 0;
  const int in = position - number * of_image, out_row = in / out_width;
  const int top = position < positions ? out_row * stride_h - padding_h : -0x40000000;
  const int left = (in - out_row * out_width) * stride_w - padding_w;
  x += static_cast<long long>(number) * height * width * groups * channels + group * channels;
  weight += (static_cast<long long>(group) * filters + first) * depth;

  float sums[kFilters] = {};
#pragma unroll 1
  for (int at = 0; at < depth; at += TileK) {
    const int steps = min(depth - at, TileK);
#pragma unroll 1
    for (int i = filter; i < min(filter + kFilters, there); ++i) {
      const T* const from = weight + static_cast<long long>(i) * depth + at;
#pragma unroll
      for (int d = lane; d < TileK; d += kLanes) of_weight[i][d] = d < steps ? static_cast<float>(from[d]) : 0.0f;
    }
    // What is not there is loaded from where something is: lanes do not diverge.
    constexpr int of_warp = TileK / Warps;
    int tap = (at + warp * of_warp) / channels, channel = (at + warp * of_warp) - tap * channels;
    int tap_row = tap / columns, tap_column = tap - tap_row * columns;
#pragma unroll 1
    for (int d = warp * of_warp; d < min((warp + 1) * of_warp, steps); ++d) {
      const int row = top + tap_row * dilation_h, column = left + tap_column * dilation_w;
      const bool is_there = static_cast<unsigned>(row) < static_cast<unsigned>(height) &&
                            static_cast<unsigned>(column) < static_cast<unsigned>(width);
      const long long place = is_there ? static_cast<long long>(row * width + column) * groups * channels : 0;
      const float found = static_cast<float>(x[place + channel]);
      of_x[d][lane] = is_there ? found : 0.0f;
      if (++channel == channels) {
        channel = 0;
        if (++tap_column == columns) {
          tap_column = 0;
          ++tap_row;
        }
      }
    }
    __syncthreads();
    if (filter < there) {
#pragma unroll 4
      for (int d = 0; d < steps; ++d) {
        const float right = of_x[d][lane];
#pragma unroll
        for (int i = 0; i < kFilters; ++i) add_product(sums[i], of_weight[filter + i][d], right);
      }
    }
    __syncthreads();
  }
  // Through memory, so that the code that follows is emitted once. A thread reads what it wrote.
#pragma unroll
  for (int i = 0; i < kFilters; ++i) of_weight[filter + i][lane] = sums[i];
  if (position >= positions) return;
#pragma unroll 1
  for (int i = filter; i < min(filter + kFilters, there); ++i) {
    const int of_group = group * filters + first + i;
    const long long to = static_cast<long long>(position) * groups * filters + of_group;
    float value = of_weight[i][lane] * factor[of_group] + summand[of_group];
    if (residual != nullptr) value += static_cast<float>(residual[to]);
    y[to] = static_cast<T>(activated<T>(activation, value, slope));
  }
}

}  // namespace cuda_kernels
