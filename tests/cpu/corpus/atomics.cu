// Atomics in global and shared memory, asynchronous copies, and byte formats.
#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <typename T>
__device__ void every(T* a, int v) {
  atomicAdd(a, v);
  atomicMax(a + 1, v);
  atomicMin(a + 2, v);
  atomicOr(a + 3, v);
  atomicAnd(a + 4, v);
  atomicXor(a + 5, v);
  atomicInc((unsigned*)a + 6, 100);
  atomicDec((unsigned*)a + 7, 100);
  atomicMax((unsigned*)a + 8, (unsigned)v);
  atomicExch(a + 9, 0);
}

extern "C" {
__global__ void every_atomic(const int* x, int* y) {
  every(y, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
__global__ void shared_atomics(const int* x, int* y) {
  __shared__ int s[10];
  if (threadIdx.x < 10) s[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  every(s, x[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x < 10) y[threadIdx.x] = s[threadIdx.x];
}
__global__ void wide_atomics(const int* x, long long* y) {
  atomicAdd((unsigned long long*)y, (unsigned long long)x[threadIdx.x] << 33);
  atomicMax(y + 1, (long long)x[threadIdx.x]);
}
__global__ void half_atomics(const __half* a, const __half2* b, __half* sum, __half2* sums) {
  atomicAdd(sum, a[threadIdx.x]);
  atomicAdd(sum, a[threadIdx.x + 64]);
  atomicAdd(sums, b[threadIdx.x]);
}
// A maximum by compare and swap, as it is written for types without an atomic.
__global__ void locked(const int* x, int* y) {
  int v = x[blockIdx.x * 32 + threadIdx.x], old = *y;
  while (old < v) {
    int seen = atomicCAS(y, old, v);
    if (seen == old) break;
    old = seen;
  }
  atomicAdd(y + 1, 1);
}
// Two stages: the next is copied while this one is used.
__global__ void pipelined(const float4* x, float4* y) {
  __shared__ float4 stage[2][64];
  int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    unsigned to = (unsigned)__cvta_generic_to_shared(&stage[i][t]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + i * 64 + t));
    asm volatile("cp.async.commit_group;");
  }
  for (int i = 0; i < 2; i++) {
    if (i == 0) asm volatile("cp.async.wait_group 1;" ::: "memory");
    else asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    float4 v = stage[i][63 - t];
    y[i * 64 + t] = make_float4(v.x * 2, v.y * 2, v.z * 2, v.w * 2);
  }
}
__global__ void cut_copy(const unsigned char* x, unsigned char* y) {
  __shared__ __align__(16) unsigned char s[96];
  int t = threadIdx.x;
  unsigned to = (unsigned)__cvta_generic_to_shared(s + 16 * t);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(x + 16 * t), "r"(10));
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int i = 0; i < 16; i++) y[16 * t + i] = s[16 * t + i];
}
__global__ void fp8(const float2* x, unsigned short* codes, float2* back) {
  int t = threadIdx.x;
  __nv_fp8x2_storage_t a = __nv_cvt_float2_to_fp8x2(x[t], __NV_SATFINITE, __NV_E4M3);
  __nv_fp8x2_storage_t b = __nv_cvt_float2_to_fp8x2(x[t], __NV_SATFINITE, __NV_E5M2);
  codes[t] = a, codes[32 + t] = b;
  back[t] = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(a, __NV_E4M3)));
  back[32 + t] = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(b, __NV_E5M2)));
}
__global__ void spaces(int* y) {
  __shared__ int s[32];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int* inside = s + s[31 - threadIdx.x];
  long long before = clock64();
  __nanosleep(20);
  int found = __isShared(inside) | __isShared(y) << 1 | __isGlobal(y) << 2;
  // On aarch64 it may stay the same for some ten nanoseconds.
  for (int i = 0; i < 1 << 20 && clock64() == before; i++) {
  }
  found |= (clock64() > before) << 3 | __isGlobal(inside) << 4;
  y[threadIdx.x] = found | (threadIdx.x == *inside + 0 * y[0] || *inside == 31 - threadIdx.x) << 5;
}
__global__ void permutes(const unsigned* x, unsigned* y) {
  for (int i = 0; i < 4; i++) {
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(y[i]) : "r"(x[0]), "r"(x[1]), "r"(i));
    asm("prmt.b32.b4e %0, %1, %2, %3;" : "=r"(y[4 + i]) : "r"(x[0]), "r"(x[1]), "r"(i));
    asm("prmt.b32.rc8 %0, %1, %2, %3;" : "=r"(y[8 + i]) : "r"(x[0]), "r"(x[1]), "r"(i));
    asm("prmt.b32.ecl %0, %1, %2, %3;" : "=r"(y[12 + i]) : "r"(x[0]), "r"(x[1]), "r"(i));
    asm("prmt.b32.ecr %0, %1, %2, %3;" : "=r"(y[16 + i]) : "r"(x[0]), "r"(x[1]), "r"(i));
    asm("prmt.b32.rc16 %0, %1, %2, %3;" : "=r"(y[20 + i]) : "r"(x[0]), "r"(x[1]), "r"(i));
  }
}
}
