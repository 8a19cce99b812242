// Device functions for the tests of `cd.Function`.
#include <assert.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdio.h>

__device__ float my_gelu(float x, float limit) {
  if (x > limit) return x;
  float cube = fmaf(0.044715f * x, x * x, x);
  return x / (1.0f + expf(-1.5957691216f * cube));
}

__device__ void my_gelu_grad(float x, float limit, float grad_result, float& grad_x, float& grad_limit) {
  float s = 1.0f / (1.0f + expf(-1.5957691216f * fmaf(0.044715f * x, x * x, x)));
  float slope = s + x * s * (1.0f - s) * 1.5957691216f * (1.0f + 0.134145f * x * x);
  grad_x = grad_result * (x > limit ? 1.0f : slope);
  grad_limit = 0.0f;
}

__device__ float newton_root(float x) {
  float y = x > 1.0f ? x : 1.0f;
  for (int i = 0; i < 40; ++i) {
    float next = 0.5f * (y + x / y);
    if (fabsf(next - y) < 1e-6f * y) return next;
    y = next;
  }
  return y;
}

__device__ int collatz(long long n) {
  int steps = 0;
  while (n > 1 && steps < 300) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    ++steps;
  }
  return steps;
}

// Loops in loops, with every way out of them.
__device__ int nested(int n, int m) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) {
      if ((i ^ j) == 5) continue;
      sum += i * j;
      if (sum > 1000) return sum;
    }
    if (sum % 7 == 3) break;
  }
  return sum;
}

__device__ signed char pick(int which, signed char a, unsigned char b) {
  switch (which) {
    case 0: return a;
    case 1: return b;
    case 2: return a + b;
    case 3: return a - b;
    case 4: return a * b;
    case 5: return a / 3;
    case 6: return b ? a % b : 1;
    default: return -1;
  }
}

__device__ __half halves(__half x, bool negative) {
  return negative ? -x : x * __float2half(2.5f);
}

__device__ __nv_bfloat16 brains(__nv_bfloat16 x, __nv_bfloat16 y) {
  return x > y ? x - y : __float2bfloat16(__bfloat162float(x) * __bfloat162float(y));
}

__device__ double doubles(double x, float y) {
  double z = fma(x, 3.0, -x) + y;
  return fmin(fmax(z, -1e300), sqrt(fabs(x)));
}

__device__ int bits(unsigned int x, unsigned long long y) {
  return __clz(x) + 100 * __popc(x) + __brev(x) % 7 + __ffs(x) + __clzll(y) + __popcll(y) * (x >> 40 % 32);
}

__device__ unsigned long long high(unsigned long long x, unsigned long long y) {
  return __umul64hi(x, y) + x / (y | 1) - (x % (y | 3));
}

__device__ int rounds(float x, unsigned short y) {
  return __float2int_rn(x) ^ __float2int_ru(x) ^ (int)floorf(x) ^ y ^ (short)x;
}

__device__ float extremes(float x, float y) {
  return fminf(x, y) + fmaxf(x, y) + (isnan(x) ? 1.0f : 0.0f) + copysignf(y, x);
}

__device__ float2 turn(float2 v, bool back) { return back ? float2{v.y, -v.x} : float2{-v.y, v.x}; }

struct Pair {
  int sum;
  short parts[2];
};
__device__ Pair pairs(const Pair& p, int x) { return {p.sum + x, {p.parts[1], (short)(p.parts[0] - x)}}; }

__device__ void divmod(int a, int b, int& quotient, int* rest) {
  quotient = b ? a / b : 0;
  *rest = b ? a % b : a;
}

namespace ns {
template <typename T, int power>
__device__ T raised(T x) {
  T result = 1;
  for (int i = 0; i < power; ++i) result *= x;
  return result;
}
}  // namespace ns

__device__ float larger_magnitude(float a, float b) { return fabsf(a) > fabsf(b) ? a : b; }
__device__ long long mirrored(long long i, long long count) { return count - 1 - i; }

// What is refused.
__device__ float table[4];
__device__ int counter;
__device__ bool is_even(int x) { return x % 2 == 0; }
__device__ float has_a_table(float x, int i) {
  const float own[4] = {1, 2, 3, 4};
  return x * own[i & 3];
}
__device__ float reads_a_table(int x) { return table[x & 3]; }
__device__ float has_an_array(int x) {
  float squares[8];
  for (int i = 0; i < 8; ++i) squares[i] = i * i;
  return squares[x & 7];
}
__device__ int asks_for_its_thread(int x) { return x + threadIdx.x; }
__device__ int shares(int x) {
  __shared__ int kept[4];
  kept[x & 3] = x;
  __syncthreads();
  return kept[0];
}
__device__ int counts(int x) { return atomicAdd(&counter, x); }
__device__ int shuffles(int x) { return __shfl_down_sync(0xffffffff, x, 1); }
__device__ int is_volatile(int x) { return x + *(volatile int*)&counter; }
__device__ int asserts(int x) {
  assert(x > 0);
  return x;
}
__device__ int prints(int x) {
  printf("%d\n", x);
  return x;
}
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ int never_ends(int n) {
  while (true) asm volatile("");
  return n;
}
