// Kernels of language models: rotary embeddings, norms, quantised weights, attention, sampling.
#include <cuda_fp16.h>
#include <math_constants.h>

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) v += __shfl_xor_sync(0xffffffff, v, mask, 32);
  return v;
}
__device__ __forceinline__ float warp_max(float v) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, mask, 32));
  return v;
}
template <int THREADS>
__device__ float block_sum(float v) {
  __shared__ float shared[THREADS / 32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  v = warp_sum(v);
  if (lane == 0) shared[warp] = v;
  __syncthreads();
  v = lane < THREADS / 32 ? shared[lane] : 0.0f;
  return warp_sum(v);
}
template <int THREADS>
__device__ float block_max(float v) {
  __shared__ float shared[THREADS / 32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  v = warp_max(v);
  if (lane == 0) shared[warp] = v;
  __syncthreads();
  v = lane < THREADS / 32 ? shared[lane] : -CUDART_INF_F;
  return warp_max(v);
}

extern "C" {

// x: [tokens, heads, dim], in place; pairs (i, i + dim/2) are turned by position * theta^(-2i/dim).
__global__ void rope(float* __restrict__ x, const int* __restrict__ positions, int heads, int dim,
                     float theta) {
  int token = blockIdx.x, head = blockIdx.y, half = dim / 2;
  float* row = x + ((size_t)token * heads + head) * dim;
  for (int i = threadIdx.x; i < half; i += blockDim.x) {
    float frequency = powf(theta, -2.0f * i / dim);
    float sine, cosine;
    sincosf(positions[token] * frequency, &sine, &cosine);
    float a = row[i], b = row[i + half];
    row[i] = a * cosine - b * sine;
    row[i + half] = b * cosine + a * sine;
  }
}

__global__ void __launch_bounds__(128) rms_norm_half(const __half2* __restrict__ x,
                                                     const __half2* __restrict__ w,
                                                     __half2* __restrict__ y, int pairs, float eps) {
  const __half2* row = x + (size_t)blockIdx.x * pairs;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < pairs; i += 128) {
    float2 v = __half22float2(row[i]);
    sum += v.x * v.x + v.y * v.y;
  }
  __half2 scale = __float2half2_rn(rsqrtf(block_sum<128>(sum) / (2 * pairs) + eps));
  for (int i = threadIdx.x; i < pairs; i += 128)
    y[(size_t)blockIdx.x * pairs + i] = __hmul2(__hmul2(row[i], scale), w[i]);
}

__global__ void silu_and_mul(const float* __restrict__ gate_up, float* __restrict__ y, int n) {
  size_t row = blockIdx.x;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float g = gate_up[row * 2 * n + i], u = gate_up[row * 2 * n + n + i];
    y[row * n + i] = g / (1.0f + __expf(-g)) * u;
  }
}

// Symmetric, one scale a row.
__global__ void __launch_bounds__(128) quantise_rows(const float* __restrict__ x,
                                                     signed char* __restrict__ q,
                                                     float* __restrict__ scales, int n) {
  size_t row = blockIdx.x;
  float largest = 0.0f;
  for (int i = threadIdx.x; i < n; i += 128) largest = fmaxf(largest, fabsf(x[row * n + i]));
  float scale = block_max<128>(largest) / 127.0f;
  if (threadIdx.x == 0) scales[row] = scale;
  float inverse = scale > 0 ? 1.0f / scale : 0.0f;
  for (int i = threadIdx.x; i < n; i += 128) {
    int v = __float2int_rn(x[row * n + i] * inverse);
    q[row * n + i] = (signed char)max(-127, min(127, v));
  }
}
__global__ void dequantise_rows(const char4* __restrict__ q, const float* __restrict__ scales,
                                float4* __restrict__ x, int fours) {
  size_t at = blockIdx.x * (size_t)fours + threadIdx.x;
  if (threadIdx.x >= fours) return;
  char4 v = q[at];
  float s = scales[blockIdx.x];
  x[at] = make_float4((signed char)v.x * s, (signed char)v.y * s, (signed char)v.z * s,
                      (signed char)v.w * s);
}

// y = W x with 4-bit weights, eight in a word, in groups of 32 with a scale and a zero each.
__global__ void gemv_4bit(const unsigned* __restrict__ w, const __half* __restrict__ scales,
                          const unsigned char* __restrict__ zeros, const float* __restrict__ x,
                          float* __restrict__ y, int columns) {
  int row = blockIdx.x * blockDim.y + threadIdx.y, words = columns / 8, groups = columns / 32;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < words; i += 32) {
    unsigned packed = w[(size_t)row * words + i];
    float scale = __half2float(scales[row * groups + i / 4]);
    int zero = zeros[row * groups + i / 4];
#pragma unroll
    for (int j = 0; j < 8; j++) {
      int q = (packed >> (4 * j)) & 15;
      sum += (q - zero) * scale * __ldg(x + i * 8 + j);
    }
  }
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[row] = sum;
}

// Products of int8 by dp4a, one warp a row.
__global__ void gemv_int8(const int* __restrict__ w, const int* __restrict__ x, int* __restrict__ y,
                          int words) {
  int row = blockIdx.x, sum = 0;
  for (int i = threadIdx.x; i < words; i += 32) sum = __dp4a(w[row * words + i], x[i], sum);
  for (int o = 16; o; o /= 2) sum += __shfl_down_sync(~0u, sum, o);
  if (threadIdx.x == 0) y[row] = sum;
}

// Indices of the k largest of a row, by k rounds of a block-wide argmax.
__global__ void __launch_bounds__(128) top_k(const float* __restrict__ x, int* __restrict__ indices,
                                             float* __restrict__ values, int n, int k) {
  extern __shared__ float row[];
  __shared__ unsigned long long best;
  for (int i = threadIdx.x; i < n; i += 128) row[i] = x[(size_t)blockIdx.x * n + i];
  for (int round = 0; round < k; round++) {
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    unsigned long long mine = 0;
    for (int i = threadIdx.x; i < n; i += 128) {
      unsigned bits = __float_as_uint(row[i]);
      bits ^= (bits >> 31) ? 0xffffffffu : 0x80000000u;
      unsigned long long key = (unsigned long long)bits << 32 | (unsigned)~i;
      if (key > mine) mine = key;
    }
    atomicMax(&best, mine);
    __syncthreads();
    int index = ~(unsigned)best;
    if (threadIdx.x == 0) {
      indices[blockIdx.x * k + round] = index;
      values[blockIdx.x * k + round] = row[index];
      row[index] = -CUDART_INF_F;
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(128) cross_entropy(const float* __restrict__ logits,
                                                     const int* __restrict__ labels,
                                                     float* __restrict__ losses, int classes) {
  const float* row = logits + (size_t)blockIdx.x * classes;
  float high = -CUDART_INF_F, sum = 0.0f;
  for (int i = threadIdx.x; i < classes; i += 128) high = fmaxf(high, row[i]);
  high = block_max<128>(high);
  for (int i = threadIdx.x; i < classes; i += 128) sum += expf(row[i] - high);
  sum = block_sum<128>(sum);
  if (threadIdx.x == 0) losses[blockIdx.x] = logf(sum) + high - row[labels[blockIdx.x]];
}

// C += A B, the depth split among blocks along z.
__global__ void matmul_split_k(const float* __restrict__ a, const float* __restrict__ b,
                               float* __restrict__ c, int m, int n, int k, int chunk) {
  __shared__ float ta[16][17], tb[16][17];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  int first = blockIdx.z * chunk, last = min(k, first + chunk);
  float sum = 0.0f;
  for (int at = first; at < last; at += 16) {
    ta[ty][tx] = row < m && at + tx < last ? a[row * k + at + tx] : 0.0f;
    tb[ty][tx] = col < n && at + ty < last ? b[(at + ty) * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++) sum = fmaf(ta[ty][i], tb[i][tx], sum);
    __syncthreads();
  }
  if (row < m && col < n) atomicAdd(&c[row * n + col], sum);
}

// Attention with tensor cores: a warp takes 16 queries, keys come in tiles of 16. Head size 32.
#define MMA(d, a, b0, b1)                                                                         \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7},"  \
               " {%8,%9}, {%0,%1,%2,%3};"                                                         \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                   \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

__device__ __forceinline__ unsigned pack(float low, float high) {
  __half2 v = __floats2half2_rn(low, high);
  return *reinterpret_cast<unsigned*>(&v);
}

__global__ void __launch_bounds__(64) flash_attention(const __half* __restrict__ q,
                                                      const __half* __restrict__ k,
                                                      const __half* __restrict__ v,
                                                      float* __restrict__ out, int keys,
                                                      float scale) {
  constexpr int D = 32;
  __shared__ __align__(16) __half tk[16][D + 8], tv[16][D + 8];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int first = (blockIdx.x * 2 + warp) * 16;
  unsigned a[D / 16][4];
#pragma unroll
  for (int c = 0; c < D / 16; c++)
    for (int i = 0; i < 4; i++)
      a[c][i] = *reinterpret_cast<const unsigned*>(
          q + (first + g + 8 * (i & 1)) * D + c * 16 + t * 2 + 8 * (i >> 1));
  float o[D / 8][4] = {}, high[2] = {-CUDART_INF_F, -CUDART_INF_F}, total[2] = {};
  for (int start = 0; start < keys; start += 16) {
    __syncthreads();
    for (int i = threadIdx.x; i < 16 * D / 8; i += 64) {
      int row = i / (D / 8), col = i % (D / 8) * 8;
      *reinterpret_cast<uint4*>(&tk[row][col]) =
          *reinterpret_cast<const uint4*>(k + (start + row) * D + col);
      *reinterpret_cast<uint4*>(&tv[row][col]) =
          *reinterpret_cast<const uint4*>(v + (start + row) * D + col);
    }
    __syncthreads();
    float s[2][4] = {};
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
      for (int c = 0; c < D / 16; c++) {
        unsigned b0 = *reinterpret_cast<unsigned*>(&tk[n * 8 + g][c * 16 + t * 2]);
        unsigned b1 = *reinterpret_cast<unsigned*>(&tk[n * 8 + g][c * 16 + t * 2 + 8]);
        MMA(s[n], a[c], b0, b1);
      }
    unsigned p[4];
#pragma unroll
    for (int r = 0; r < 2; r++) {
      float most = fmaxf(fmaxf(s[0][2 * r], s[0][2 * r + 1]), fmaxf(s[1][2 * r], s[1][2 * r + 1]));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 2)) * scale;
      float next = fmaxf(high[r], most), keep = exp2f((high[r] - next) * 1.44269504f), sum = 0;
      high[r] = next;
#pragma unroll
      for (int n = 0; n < 2; n++)
        for (int i = 0; i < 2; i++) {
          float e = exp2f((s[n][2 * r + i] * scale - next) * 1.44269504f);
          s[n][2 * r + i] = e, sum += e;
        }
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      total[r] = total[r] * keep + sum;
#pragma unroll
      for (int n = 0; n < D / 8; n++) o[n][2 * r] *= keep, o[n][2 * r + 1] *= keep;
      p[r] = pack(s[0][2 * r], s[0][2 * r + 1]);
      p[2 + r] = pack(s[1][2 * r], s[1][2 * r + 1]);
    }
#pragma unroll
    for (int n = 0; n < D / 8; n++) {
      unsigned b0, b1;
      unsigned at = (unsigned)__cvta_generic_to_shared(&tv[lane % 16][n * 8]);
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                   : "=r"(b0), "=r"(b1)
                   : "r"(at));
      MMA(o[n], p, b0, b1);
    }
  }
#pragma unroll
  for (int n = 0; n < D / 8; n++)
    for (int i = 0; i < 4; i++)
      out[(first + g + 8 * (i >> 1)) * D + n * 8 + t * 2 + (i & 1)] = o[n][i] / total[i >> 1];
}
}
