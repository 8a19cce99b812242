// One small kernel for each thing that a declaration can say. See samples.py.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// found[i] = the architecture this code was compiled for: tells which variant runs.
extern "C" __global__ void report_arch(const float* __restrict__ like, int* __restrict__ found,
                                       int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) found[i] = __CUDA_ARCH__ / 10;
}

// y[i] = alpha * x[i] + beta
extern "C" __global__ void scale(const float* __restrict__ x, float* __restrict__ y, float alpha,
                                 int beta, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = alpha * x[i] + beta;
}

// Scalars narrower than 32 bits: y[i] = x[i] + byte + word, if flag
extern "C" __global__ void narrow_scalars(const float* __restrict__ x, float* __restrict__ y,
                                          signed char byte, unsigned short word, bool flag,
                                          int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = flag ? x[i] + byte + word : -1.0f;
}

// y[i] = x[i + 1]: the result is one shorter than the operand.
extern "C" __global__ void drop_first(const float* __restrict__ x, float* __restrict__ y,
                                      int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i + 1];
}

// sums[row] = sum over the columns: one block a row, one thread a block.
extern "C" __global__ void row_sums(const float* __restrict__ x, float* __restrict__ sums,
                                    int columns) {
  float sum = 0.0f;
  for (int column = 0; column < columns; ++column) sum += x[blockIdx.x * columns + column];
  sums[blockIdx.x] = sum;
}

// Two results: sums[i] = pairs[i][0] + pairs[i][1], differences[i] = pairs[i][0] - pairs[i][1]
extern "C" __global__ void sum_and_difference(const float2* __restrict__ pairs,
                                              float* __restrict__ sums,
                                              float* __restrict__ differences, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    const float2 pair = pairs[i];
    sums[i] = pair.x + pair.y;
    differences[i] = pair.x - pair.y;
  }
}

// Exchanges two buffers in place.
extern "C" __global__ void exchange(float* __restrict__ left, float* __restrict__ right,
                                    int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    const float kept = left[i];
    left[i] = right[i];
    right[i] = kept;
  }
}

// before[i] = total[i]; total[i] += x[i]
extern "C" __global__ void accumulate(const float* __restrict__ x, float* __restrict__ total,
                                      float* __restrict__ before, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    before[i] = total[i];
    total[i] += x[i];
  }
}

// x[i] += 1 in double precision, in place.
extern "C" __global__ void increment(double* __restrict__ x, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[i] += 1.0;
}

// Reads nothing: y[i] = first + i
extern "C" __global__ void iota(int* __restrict__ y, int first) {
  y[threadIdx.x] = first + threadIdx.x;
}

// blocks[i] = the number of blocks the grid has.
extern "C" __global__ void grid_size(const float* __restrict__ like, int* __restrict__ blocks,
                                     int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    blocks[i] = gridDim.x;
  }
}

// y[row][column] = 1000 * row + column + x[]: a 2-D block, a 2-D grid and a tensor of rank 0.
extern "C" __global__ void coordinates(const float* __restrict__ like, const float* __restrict__ x,
                                       float* __restrict__ y, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && column < columns) y[row * columns + column] = 1000 * row + column + *x;
}

// y[i] = x[i] + x[i], for element types of every size.
#define DOUBLE(NAME, TYPE)                                                                    \
  extern "C" __global__ void double_##NAME(const TYPE* __restrict__ x, TYPE* __restrict__ y,  \
                                           int count) {                                      \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                                     \
    if (i < count) y[i] = x[i] + x[i];                                                       \
  }
DOUBLE(f16, __half)
DOUBLE(bf16, __nv_bfloat16)
DOUBLE(f32, float)
DOUBLE(f64, double)
DOUBLE(i8, signed char)
DOUBLE(u8, unsigned char)
DOUBLE(i16, short)
DOUBLE(u16, unsigned short)
DOUBLE(i32, int)
DOUBLE(u32, unsigned int)
DOUBLE(i64, long long)
DOUBLE(u64, unsigned long long)

// y[i] = !x[i]
extern "C" __global__ void negate_bool(const bool* __restrict__ x, bool* __restrict__ y,
                                       int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = !x[i];
}
