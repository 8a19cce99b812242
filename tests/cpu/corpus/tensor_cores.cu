// Matrix operations of a warp, by inline PTX as libraries write them; and attention without them.
#include <cuda_fp16.h>

__device__ unsigned pair_at(const unsigned short* p) { return *(const unsigned*)p; }

// A is 16 x 2 * half, B is 8 x 2 * half, both with rows of 32-bit words.
#define FRAGMENTS(A, B, WORDS)                                                  \
  int g = threadIdx.x >> 2, t = threadIdx.x & 3;                                \
  const unsigned* pa = (const unsigned*)(A);                                    \
  const unsigned* pb = (const unsigned*)(B);                                    \
  unsigned a0 = pa[g * WORDS + t], a1 = pa[(g + 8) * WORDS + t];                \
  unsigned a2 = pa[g * WORDS + t + 4], a3 = pa[(g + 8) * WORDS + t + 4];        \
  unsigned b0 = pb[g * WORDS + t], b1 = pb[g * WORDS + t + 4];

#define STORE(C, c)                                                             \
  C[g * 8 + 2 * t] = c[0], C[g * 8 + 2 * t + 1] = c[1];                         \
  C[(g + 8) * 8 + 2 * t] = c[2], C[(g + 8) * 8 + 2 * t + 1] = c[3];

#define MMA(SHAPE, TYPES, CON)                                                  \
  asm volatile("mma.sync.aligned." SHAPE ".row.col." TYPES                      \
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"         \
               : "+" CON(c[0]), "+" CON(c[1]), "+" CON(c[2]), "+" CON(c[3])     \
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));

extern "C" {
__global__ void mma_f16(const void* a, const void* b, float* y) {
  FRAGMENTS(a, b, 8)
  float c[4] = {};
  MMA("m16n8k16", "f32.f16.f16.f32", "f")
  STORE(y, c)
}
__global__ void mma_bf16(const void* a, const void* b, float* y) {
  FRAGMENTS(a, b, 8)
  float c[4] = {};
  MMA("m16n8k16", "f32.bf16.bf16.f32", "f")
  STORE(y, c)
}
__global__ void mma_tf32(const void* a, const void* b, float* y) {
  FRAGMENTS(a, b, 8)
  float c[4] = {};
  MMA("m16n8k8", "f32.tf32.tf32.f32", "f")
  STORE(y, c)
}
__global__ void mma_s8(const void* a, const void* b, int* y) {
  FRAGMENTS(a, b, 8)
  int c[4] = {};
  MMA("m16n8k32", "s32.s8.s8.s32", "r")
  STORE(y, c)
}
__global__ void mma_f16_sums(const void* a, const void* b, __half* y) {
  FRAGMENTS(a, b, 8)
  unsigned c[2] = {0x3C003C00, 0x3C003C00};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
               : "+r"(c[0]), "+r"(c[1]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  *(unsigned*)(y + g * 8 + 2 * t) = c[0];
  *(unsigned*)(y + (g + 8) * 8 + 2 * t) = c[1];
}
// Each warp makes a 16 x 8 tile from tiles in shared memory, loaded with ldmatrix.
__global__ void matmul_tensor(const __half* x, const __half* w, float* y, int m, int n, int k) {
  __shared__ __half ta[4][16][24];
  __shared__ __half tb[16][16];
  int lane = threadIdx.x, warp = threadIdx.y, row = warp * 16, col = blockIdx.x * 8;
  float c[4] = {};
  for (int k0 = 0; k0 < k; k0 += 16) {
    for (int i = lane; i < 256; i += 32) ta[warp][i >> 4][i & 15] = x[(row + (i >> 4)) * k + k0 + (i & 15)];
    for (int i = warp * 32 + lane; i < 128; i += 128) tb[i >> 3][i & 7] = w[(k0 + (i >> 3)) * n + col + (i & 7)];
    __syncthreads();
    unsigned a0, a1, a2, a3, b0, b1;
    unsigned pa = (unsigned)__cvta_generic_to_shared(&ta[warp][lane & 15][lane >> 4 << 3]);
    unsigned pb = (unsigned)__cvta_generic_to_shared(&tb[lane & 15][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3) : "r"(pa));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(b0), "=r"(b1) : "r"(pb));
    MMA("m16n8k16", "f32.f16.f16.f32", "f")
    __syncthreads();
  }
  int g = lane >> 2, t = lane & 3;
  float* out = y + row * n + col;
  out[g * n + 2 * t] = c[0], out[g * n + 2 * t + 1] = c[1];
  out[(g + 8) * n + 2 * t] = c[2], out[(g + 8) * n + 2 * t + 1] = c[3];
}
// One thread a query, keys and values in tiles, softmax kept up to date on the way.
__global__ void attention(const __half* q, const __half* k, const __half* v, float* y, int keys) {
  __shared__ float tk[16][16], tv[16][16];
  int t = threadIdx.x, query = blockIdx.x * 16 + t;
  float mine[16], sum[16] = {}, total = 0, high = -1e30f;
  for (int i = 0; i < 16; i++) mine[i] = __half2float(q[query * 16 + i]) * 0.25f;
  for (int start = 0; start < keys; start += 16) {
    __syncthreads();
    for (int i = 0; i < 16; i++) {
      tk[t][i] = __half2float(k[(start + t) * 16 + i]);
      tv[t][i] = __half2float(v[(start + t) * 16 + i]);
    }
    __syncthreads();
    for (int j = 0; j < 16; j++) {
      float score = 0;
      for (int i = 0; i < 16; i++) score += mine[i] * tk[j][i];
      float next = fmaxf(high, score), keep = __expf(high - next), add = __expf(score - next);
      total = total * keep + add;
      for (int i = 0; i < 16; i++) sum[i] = sum[i] * keep + add * tv[j][i];
      high = next;
    }
  }
  for (int i = 0; i < 16; i++) y[query * 16 + i] = sum[i] / total;
}
__global__ void transposed(const unsigned* x, unsigned* y) {
  unsigned v = x[threadIdx.x], r;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(v));
  y[threadIdx.x] = r;
}
// Instructions that began with sm_90, and the same without them.
__global__ void elected(int* y) {
  unsigned mask = threadIdx.x & 8 ? 0xff00ff00u : 0x00ff00ffu, leader, is_leader;
#if __CUDA_ARCH__ >= 900
  asm volatile("{ .reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p; }"
               : "=r"(leader), "=r"(is_leader) : "r"(mask));
#else
  leader = __ffs(mask) - 1, is_leader = leader == threadIdx.x;
#endif
  y[threadIdx.x] = leader * 2 + is_leader;
}
__global__ void stored_transposed(const unsigned* x, unsigned* y) {
  __shared__ __align__(16) unsigned short s[8][8];
  int t = threadIdx.x;
#if __CUDA_ARCH__ >= 900
  unsigned to = (unsigned)__cvta_generic_to_shared(&s[t & 7][0]);
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(to), "r"(x[t])
               : "memory");
#else
  for (int i = 0; i < 2; i++) s[2 * (t & 3) + i][t >> 2] = x[t] >> 16 * i;
#endif
  __syncwarp();
  y[t] = ((const unsigned*)s)[t];
}
}
