#include <cassert>
#include <cstdio>

__constant__ int table[4] = {1, 2, 3, 4};
__device__ int counters[4];
struct Node { float value; const Node* next; };

// One mistake a number; 0 makes none. Tests name the lines.
extern "C" __global__ void mistakes(const int* how, float* x, int* count, int size) {
  __shared__ float tile[64];
  extern __shared__ int dynamic[];
  int i = threadIdx.x, n = *how;
  if (n == 1) x[i + size] = 1;                                // past an operand's end
  if (n == 2) x[i] = x[i - 1];                                // before its beginning
  if (n == 3) tile[i + 1] = 1;                                // past a shared variable's end
  if (n == 4) dynamic[i + 4 * size] = 1;                      // past dynamic shared memory
  if (n == 5) counters[i] = 1;                                // past a variable of the module
  if (n == 6) x[i] = table[i];                                // past a constant
  if (n == 7) *(float2*)(x + 1) = make_float2(1, 2);          // misaligned
  if (n == 8) *(i < size ? (int*)how : counters) = 1;         // a write to an In
  if (n == 9) x[i] = ((const Node*)x)->next->value;           // a null pointer
  if (n == 10) x[i] = tile[i];                                // never written
  if (n == 11) { tile[i] = i; x[i] = tile[i ? i - 1 : 0]; }   // no barrier
  if (n == 12) {
    tile[i] = i;
    __syncwarp();
    x[i] = tile[i ? i - 1 : 0];                               // too small a barrier
  }
  if (n == 13) {
    tile[63 - i] = i;
    __syncthreads();
    x[i] = tile[i];
    tile[63 - i] = 1;                                         // a barrier is missing before it
  }
  if (n == 14) x[0] = i;                                      // everybody writes one element
  if (n == 15) { count[0] = 0; atomicAdd(count, 1); }         // atomic and not
  if (n == 16) x[i] = 5 / (i - 3);
  if (n == 17) x[i] = i % (i - 3);
  if (n == 18) __trap();
  if (n == 19) assert(i < 5);
  if (n == 20) {
    if (i < 32) asm volatile("bar.sync 1;" ::: "memory");
    else asm volatile("bar.sync 2;" ::: "memory");
  }
  if (n == 21 && i < 32) asm volatile("bar.sync 3, 64;" ::: "memory");
  if (n == 22) {
    if (i == 3) asm volatile("bar.sync 1, 64;" ::: "memory");
    else x[i] = __shfl_sync(0xffffffffu, x[i], 3);
  }
  if (n == 23) {  // none of these is a mistake
    tile[i] = i;
    dynamic[i] = i;
    atomicAdd(count, 1);
    atomicMax(count + 1, i);
    __syncwarp();
    x[i] = tile[i ^ 1];
    __syncthreads();
    x[i] += tile[63 - i] + dynamic[(i + 7) % 64];
    __syncthreads();
    tile[(i + 1) % 64] = x[i];
    int local[8];
    for (int k = 0; k < 8; k++) local[(k * 3 + n) % 8] = k + i;
    x[i] = local[i % 8] + table[i % 4];
    if (i < 4) counters[i] = i;
    volatile int* flag = count + 2;
    flag[0] = i;
  }
  if (n == 24) {
    int local[8];
    for (int k = 0; k < size; k++) local[k] = k;              // past a local array
    x[i] = local[i % 8];
  }
  if (n == 25) while (!*(volatile int*)(count + 1));           // nobody writes it
  if (n == 26) {                                              // one barrier for half a warp each
    if (i % 2) { tile[i] = i; __syncthreads(); }
    else { tile[i] = 2 * i; __syncthreads(); }
  }
}

extern "C" __global__ void prints(const float* x, int* counts) {
  if (threadIdx.x) return;
  printf("%d|%5d|%-5d|%05d|%+d|%i|%u|%x|%#X|%o|%c|%%|%s|%10s|%-6.2s|\n", -1, 42, 42, 42, 42, -7,
         4000000000u, 255, 255, 8, 'A', "text", "right", "left");
  printf("%f|%.2f|%8.3f|%e|%g|%G|%a|%.*f|%*d|\n", x[0], x[0], x[0], x[0], x[0], 1e-10, 1.0, 1,
         2.25, 6, 7);
  printf("%lld|%llu|%llx|%ld|%zu|%hd|%hhd|%p|%s|\n", -(1ll << 40), ~0ull, 1ull << 36, -5l,
         sizeof(int), (short)-3, (signed char)-4, (void*)0x1234, (const char*)0);
  counts[0] = printf("no arguments\n");
  counts[1] = printf("%d %d\n", 1, 2);
}
