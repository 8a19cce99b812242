// Tensor cores by fragments, as CUDA's own samples use them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <typename Order> struct in_rows { static constexpr bool value = false; };
template <> struct in_rows<wmma::row_major> { static constexpr bool value = true; };

// One tile: D = A B + C, each in the order that its type says.
template <int M, int N, int K, typename T, typename Sum, typename OrderA, typename OrderB>
__device__ void tile(const void* a, const void* b, const void* c, void* d, wmma::layout_t order) {
  using Storage = typename wmma::fragment<wmma::matrix_a, M, N, K, T, OrderA>::storage_element_type;
  wmma::fragment<wmma::matrix_a, M, N, K, T, OrderA> left;
  wmma::fragment<wmma::matrix_b, M, N, K, T, OrderB> right;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> sums;
  constexpr bool rows_a = in_rows<OrderA>::value, rows_b = in_rows<OrderB>::value;
  wmma::load_matrix_sync(left, (const Storage*)a, rows_a ? K : M);
  wmma::load_matrix_sync(right, (const Storage*)b, rows_b ? N : K);
  wmma::load_matrix_sync(sums, (const Sum*)c, order == wmma::mem_row_major ? N : M, order);
  wmma::mma_sync(sums, left, right, sums);
  for (int i = 0; i < sums.num_elements; i++) sums.x[i] = sums.x[i] * (Sum)2;
  wmma::store_matrix_sync((Sum*)d, sums, order == wmma::mem_row_major ? N : M, order);
}

#define TILE(NAME, M, N, K, T, SUM, A, B, ORDER)                                            \
  __global__ void NAME(const void* a, const void* b, const void* c, void* d) {              \
    tile<M, N, K, T, SUM, wmma::A##_major, wmma::B##_major>(a, b, c, d, wmma::mem_##ORDER##_major); \
  }

extern "C" {
TILE(f16_square, 16, 16, 16, __half, float, row, col, row)
TILE(f16_square_columns, 16, 16, 16, __half, float, col, row, col)
TILE(f16_sums, 16, 16, 16, __half, __half, row, row, row)
TILE(bf16_tall, 32, 8, 16, __nv_bfloat16, float, col, col, row)
TILE(u8_tall, 32, 8, 16, unsigned char, int, row, col, col)
TILE(s8_flat, 8, 32, 16, signed char, int, col, row, row)
TILE(tf32_columns, 16, 16, 8, wmma::precision::tf32, float, col, col, col)

// A block makes 32 x 32 of C, each of its four warps 16 x 16, from tiles in shared memory.
__global__ void matmul_wmma(const __half* __restrict__ a, const __half* __restrict__ b,
                            float* __restrict__ c, int m, int n, int k) {
  __shared__ __half ta[32][24], tb[16][40];
  int warp = threadIdx.x / 32, row = warp / 2 * 16, col = warp % 2 * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int at = 0; at < k; at += 16) {
    for (int i = threadIdx.x; i < 32 * 16; i += 128) {
      ta[i / 16][i % 16] = a[(blockIdx.y * 32 + i / 16) * k + at + i % 16];
      tb[i / 32][i % 32] = b[(at + i / 32) * n + blockIdx.x * 32 + i % 32];
    }
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right;
    wmma::load_matrix_sync(left, &ta[row][0], 24);
    wmma::load_matrix_sync(right, &tb[0][col], 40);
    wmma::mma_sync(sums, left, right, sums);
    __syncthreads();
  }
  float* out = c + (size_t)(blockIdx.y * 32 + row) * n + blockIdx.x * 32 + col;
  wmma::store_matrix_sync(out, sums, n, wmma::mem_row_major);
}
}
