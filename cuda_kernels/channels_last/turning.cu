// y[i, b, a] = x[i, a, b]: matrices transposed, as images are from channels first to channels last and back. y may have more
// columns than x has rows: zeros.
//
// A block transposes 64 x 64 elements through shared memory, whose rows are padded by one element. Memory traffic: x is
// read and y written once, 64 adjacent elements at a time.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cuda_kernels {

constexpr int kSide = 64;
constexpr int kFew = 4;  // rows of images of three colours, with zeros

template <class T, int Threads>
__global__ void __launch_bounds__(Threads)
    turning(const T* __restrict__ x, const unsigned char* __restrict__, T* __restrict__ y, int images, int rows,
            int columns, int wide) {
  constexpr int at_once = Threads / kSide;
  __shared__ T tile[kSide][kSide + 4 / sizeof(T)];
  const int down = (wide + kSide - 1) / kSide, across = (columns + kSide - 1) / kSide;
  const int image = blockIdx.x / (down * across), place = blockIdx.x % (down * across);
  const int first_row = place / across * kSide, first_column = place % across * kSide;
  const int fast = threadIdx.x % kSide, slow = threadIdx.x / kSide;
  x += static_cast<long long>(image) * rows * columns;
  y += static_cast<long long>(image) * columns * wide;
  if (wide == kFew) {  // a thread writes all rows of a column at once
    const int column = first_column + threadIdx.x;
    if (threadIdx.x >= kSide || column >= columns) return;
    struct alignas(kFew * sizeof(T)) Few {
      T elements[kFew];
    } few;
#pragma unroll
    for (int row = 0; row < kFew; ++row) {
      few.elements[row] = T(0.0f);
      if (row < rows) few.elements[row] = x[static_cast<long long>(row) * columns + column];
    }
    if (reinterpret_cast<unsigned long long>(y) % sizeof(few) == 0) {
      *reinterpret_cast<Few*>(y + static_cast<long long>(column) * kFew) = few;
    } else {
#pragma unroll
      for (int row = 0; row < kFew; ++row) y[static_cast<long long>(column) * kFew + row] = few.elements[row];
    }
    return;
  }
#pragma unroll 8
  for (int i = slow; i < kSide; i += at_once) {
    const int row = first_row + i, column = first_column + fast;
    const bool is_there = row < rows && column < columns;
    T number = T(0.0f);
    if (is_there) number = x[static_cast<long long>(row) * columns + column];
    tile[i][fast] = number;
  }
  __syncthreads();
#pragma unroll 8
  for (int i = slow; i < kSide; i += at_once) {
    const int column = first_column + i, row = first_row + fast;
    if (column < columns && row < wide) y[static_cast<long long>(column) * wide + row] = tile[fast][i];
  }
}

}  // namespace cuda_kernels
