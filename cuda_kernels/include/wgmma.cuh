// Warpgroup MMA (wgmma), for sm_90a: #include "../include/wgmma.cuh".
//
// A warpgroup, 128 threads, multiplies tiles in shared memory, 64 x 16 by 16 x N with N up to 256, into accumulators of
// 64 x N f32 in its registers. The instructions are asynchronous: they are committed in groups and waited for. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
//
// Thread t of the warpgroup holds the accumulators of rows t / 32 * 16 + t % 32 / 4 + {0, 8}, and in each block of 8
// columns the columns t % 4 * 2 + {0, 1}: sums[4 * block + 2 * (row half) + (column)].
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "shared_address.cuh"

namespace cuda_kernels {

constexpr int kTileK = 64;  // elements of 128 bytes, a row of the swizzle

// Dynamic shared memory, aligned to 1024 bytes as swizzled tiles require.
template <class T>
__device__ __forceinline__ T& dynamic_shared_memory() {
  extern __shared__ __align__(1024) unsigned char memory[];
  return *reinterpret_cast<T*>(memory);
}

// Shared-memory matrix descriptors of tiles with TMA's 128-byte swizzle: core matrices of 1024 bytes, 8 rows of 128
// bytes, in which chunk i of 16 bytes of row r is at i ^ r.
//
// K-major (a row is 64 of k of one row of A, or of one column of B): each 8 rows are 1024 bytes further.
__device__ __forceinline__ unsigned long long descriptor_k_major(const void* tile) {
  return (shared_address(tile) >> 4 & 0x3fff) | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

// MN-major (a row is 64 adjacent rows of A, or columns of B, for one k): each 8 of k are 1024 bytes further, and the next
// 64 rows or columns are `next` bytes further.
__device__ __forceinline__ unsigned long long descriptor_mn_major(const void* tile, int next) {
  return (shared_address(tile) >> 4 & 0x3fff) | static_cast<unsigned long long>(next >> 4) << 16 |
         (1024ull >> 4) << 32 | 1ull << 62;
}

template <class In>
constexpr bool kIsHalf = false;
template <>
constexpr bool kIsHalf<__half> = true;

// Required before the first wgmma, and after any access to accumulator registers since the last one (wgmma.fence).
__device__ __forceinline__ void warpgroup_arrive() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ __forceinline__ void warpgroup_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Makes what this thread wrote to shared memory visible to wgmma and to bulk copies, the async proxy.
__device__ __forceinline__ void fence_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Waits until at most `Pending` committed groups are in flight.
template <int Pending>
__device__ __forceinline__ void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

// Registers that a wgmma wrote, read after the wait for it: nothing that reads them goes before this.
template <int Size>
__device__ __forceinline__ void fence_registers(float (&values)[Size]) {
#pragma unroll
  for (float& value : values) asm volatile("" : "+f"(value)::"memory");
}

// The operands of the instruction: the names of N / 2 accumulators, and the accumulators.
#define CUDA_KERNELS_NAMES_4 "%0, %1, %2, %3"
#define CUDA_KERNELS_NAMES_8 CUDA_KERNELS_NAMES_4 ", %4, %5, %6, %7"
#define CUDA_KERNELS_NAMES_16 CUDA_KERNELS_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define CUDA_KERNELS_NAMES_24 CUDA_KERNELS_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define CUDA_KERNELS_NAMES_32 \
  CUDA_KERNELS_NAMES_16 \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define CUDA_KERNELS_NAMES_40 \
  CUDA_KERNELS_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define CUDA_KERNELS_NAMES_48 \
  CUDA_KERNELS_NAMES_32 \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define CUDA_KERNELS_NAMES_56 \
  CUDA_KERNELS_NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define CUDA_KERNELS_NAMES_64 \
  CUDA_KERNELS_NAMES_48 \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define CUDA_KERNELS_NAMES_72 \
  CUDA_KERNELS_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define CUDA_KERNELS_NAMES_80 \
  CUDA_KERNELS_NAMES_64 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define CUDA_KERNELS_NAMES_88 \
  CUDA_KERNELS_NAMES_64 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
  ", %80, %81, %82, %83, %84, %85, %86, %87"
#define CUDA_KERNELS_NAMES_96 \
  CUDA_KERNELS_NAMES_64 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define CUDA_KERNELS_NAMES_104 \
  CUDA_KERNELS_NAMES_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define CUDA_KERNELS_NAMES_112 \
  CUDA_KERNELS_NAMES_96 \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define CUDA_KERNELS_NAMES_120 \
  CUDA_KERNELS_NAMES_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define CUDA_KERNELS_NAMES_128 \
  CUDA_KERNELS_NAMES_96 \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define CUDA_KERNELS_SUMS_4(I) "+f"(s[I]), "+f"(s[I + 1]), "+f"(s[I + 2]), "+f"(s[I + 3])
#define CUDA_KERNELS_SUMS_8(I) CUDA_KERNELS_SUMS_4(I), CUDA_KERNELS_SUMS_4(I + 4)
#define CUDA_KERNELS_SUMS_16(I) CUDA_KERNELS_SUMS_8(I), CUDA_KERNELS_SUMS_8(I + 8)
#define CUDA_KERNELS_SUMS_24(I) CUDA_KERNELS_SUMS_16(I), CUDA_KERNELS_SUMS_8(I + 16)
#define CUDA_KERNELS_SUMS_32(I) CUDA_KERNELS_SUMS_16(I), CUDA_KERNELS_SUMS_16(I + 16)
#define CUDA_KERNELS_SUMS_40(I) CUDA_KERNELS_SUMS_32(I), CUDA_KERNELS_SUMS_8(I + 32)
#define CUDA_KERNELS_SUMS_48(I) CUDA_KERNELS_SUMS_32(I), CUDA_KERNELS_SUMS_16(I + 32)
#define CUDA_KERNELS_SUMS_56(I) CUDA_KERNELS_SUMS_48(I), CUDA_KERNELS_SUMS_8(I + 48)
#define CUDA_KERNELS_SUMS_64(I) CUDA_KERNELS_SUMS_32(I), CUDA_KERNELS_SUMS_32(I + 32)
#define CUDA_KERNELS_SUMS_72(I) CUDA_KERNELS_SUMS_64(I), CUDA_KERNELS_SUMS_8(I + 64)
#define CUDA_KERNELS_SUMS_80(I) CUDA_KERNELS_SUMS_64(I), CUDA_KERNELS_SUMS_16(I + 64)
#define CUDA_KERNELS_SUMS_88(I) CUDA_KERNELS_SUMS_64(I), CUDA_KERNELS_SUMS_16(I + 64), CUDA_KERNELS_SUMS_8(I + 80)
#define CUDA_KERNELS_SUMS_96(I) CUDA_KERNELS_SUMS_64(I), CUDA_KERNELS_SUMS_32(I + 64)
#define CUDA_KERNELS_SUMS_104(I) CUDA_KERNELS_SUMS_96(I), CUDA_KERNELS_SUMS_8(I + 96)
#define CUDA_KERNELS_SUMS_112(I) CUDA_KERNELS_SUMS_96(I), CUDA_KERNELS_SUMS_16(I + 96)
#define CUDA_KERNELS_SUMS_120(I) CUDA_KERNELS_SUMS_112(I), CUDA_KERNELS_SUMS_8(I + 112)
#define CUDA_KERNELS_SUMS_128(I) CUDA_KERNELS_SUMS_64(I), CUDA_KERNELS_SUMS_64(I + 64)

// Inline assembly numbers its operands: N / 2 accumulators, then A, B, whether to add, and the major modes of A and B.
#define CUDA_KERNELS_MULTIPLY(N, SUMS, A, B, ADD, ACROSS_A, ACROSS_B, TYPE)                                         \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #ADD ", 0;\n"                                               \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" CUDA_KERNELS_NAMES_##SUMS "}, " \
               "%" #A ", %" #B ", add, 1, 1, %" #ACROSS_A ", %" #ACROSS_B ";\n}"                                    \
               : CUDA_KERNELS_SUMS_##SUMS(0)                                                                        \
               : "l"(a), "l"(b), "r"(add), "n"(kAcrossA), "n"(kAcrossB))

// Of types whose tiles are K-major: TF32, 8 of k, and 8-bit floats, 32 of k (wgmma_f8.cuh).
#define CUDA_KERNELS_MULTIPLY_ALONG(N, SUMS, A, B, ADD, K_TYPE)                                                \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #ADD ", 0;\n"                                           \
               "wgmma.mma_async.sync.aligned.m64n" #N K_TYPE " {" CUDA_KERNELS_NAMES_##SUMS "}, %" #A ", %" #B \
               ", add, 1, 1;\n}"                                                                               \
               : CUDA_KERNELS_SUMS_##SUMS(0)                                                                   \
               : "l"(a), "l"(b), "r"(add))

// sums (+)= A B, over 32 bytes of k, 16 numbers of 16 bits: `add` 0 overwrites them. kAcrossA and kAcrossB select MN-major
// tiles, of 16 bits.
template <class In, int N, int kAcrossA, int kAcrossB>
__device__ __forceinline__ void wgmma(float (&s)[N / 2],
                                         unsigned long long a,
                                         unsigned long long b,
                                         int add) {
  static_assert(sizeof(In) == 2 || !(kAcrossA || kAcrossB), "K-major");
#define CUDA_KERNELS_MULTIPLY_OF(SIZE, SUMS, A, B, ADD, ...)                           \
  if constexpr (N == SIZE && kIsHalf<In>) {                                            \
    CUDA_KERNELS_MULTIPLY(SIZE, SUMS, A, B, ADD, __VA_ARGS__, "f16");                  \
  } else if constexpr (N == SIZE && sizeof(In) == 4) {                                 \
    CUDA_KERNELS_MULTIPLY_ALONG(SIZE, SUMS, A, B, ADD, "k8.f32.tf32.tf32");            \
  } else if constexpr (N == SIZE) {                                                    \
    CUDA_KERNELS_MULTIPLY(SIZE, SUMS, A, B, ADD, __VA_ARGS__, "bf16");                 \
  }
  static_assert(N == 8 || (N % 16 == 0 && N > 0 && N <= 256), "one of these");
  CUDA_KERNELS_MULTIPLY_OF(8, 4, 4, 5, 6, 7, 8)
  CUDA_KERNELS_MULTIPLY_OF(16, 8, 8, 9, 10, 11, 12)
  CUDA_KERNELS_MULTIPLY_OF(32, 16, 16, 17, 18, 19, 20)
  CUDA_KERNELS_MULTIPLY_OF(48, 24, 24, 25, 26, 27, 28)
  CUDA_KERNELS_MULTIPLY_OF(64, 32, 32, 33, 34, 35, 36)
  CUDA_KERNELS_MULTIPLY_OF(80, 40, 40, 41, 42, 43, 44)
  CUDA_KERNELS_MULTIPLY_OF(96, 48, 48, 49, 50, 51, 52)
  CUDA_KERNELS_MULTIPLY_OF(112, 56, 56, 57, 58, 59, 60)
  CUDA_KERNELS_MULTIPLY_OF(128, 64, 64, 65, 66, 67, 68)
  CUDA_KERNELS_MULTIPLY_OF(144, 72, 72, 73, 74, 75, 76)
  CUDA_KERNELS_MULTIPLY_OF(160, 80, 80, 81, 82, 83, 84)
  CUDA_KERNELS_MULTIPLY_OF(176, 88, 88, 89, 90, 91, 92)
  CUDA_KERNELS_MULTIPLY_OF(192, 96, 96, 97, 98, 99, 100)
  CUDA_KERNELS_MULTIPLY_OF(208, 104, 104, 105, 106, 107, 108)
  CUDA_KERNELS_MULTIPLY_OF(224, 112, 112, 113, 114, 115, 116)
  CUDA_KERNELS_MULTIPLY_OF(240, 120, 120, 121, 122, 123, 124)
  CUDA_KERNELS_MULTIPLY_OF(256, 128, 128, 129, 130, 131, 132)
#undef CUDA_KERNELS_MULTIPLY_OF
}

#undef CUDA_KERNELS_MULTIPLY

// Register reallocation of a warpgroup (setmaxnreg): each thread has `Count` afterwards.
template <int Count>
__device__ __forceinline__ void deallocate_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}

template <int Count>
__device__ __forceinline__ void allocate_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

}  // namespace cuda_kernels
