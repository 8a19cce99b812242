// Matrix products of warpgroups, for sm_90a: #include "include/wgmma.cuh".
//
// A warpgroup, 128 threads, multiplies tiles that lie in shared memory: 64 x 16 by 16 x N, where N is up to
// 256, and adds to 64 x N numbers of f32 in its registers. The instructions run beside the threads: they are
// committed as groups and waited for. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
//
// Of the sums, thread t of the warpgroup has rows t / 32 * 16 + t % 32 / 4 + {0, 8}, and in each block of 8
// columns the columns t % 4 * 2 + {0, 1}: sums[4 * block + 2 * (row half) + (column)].
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "mbarrier.cuh"

namespace cuda_kernels {

// Tiles in shared memory lie in parts of 1024 bytes, 8 rows of 128 bytes, as copies with the 128-byte swizzle
// leave them: the 16 bytes i of row r are at place i ^ r.
//
// Rows along k (64 elements of one row of A, or of one column of B): each 8 rows are 1024 bytes on.
__device__ __forceinline__ unsigned long long tile_along_k(const void* tile) {
  return (shared_address(tile) >> 4 & 0x3fff) | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

// Rows across k (64 neighbouring rows of A, or columns of B, for one k): each 8 values of k are 1024 bytes
// on, and the next 64 rows or columns are `next` bytes on.
__device__ __forceinline__ unsigned long long tile_across_k(const void* tile, int next) {
  return (shared_address(tile) >> 4 & 0x3fff) | static_cast<unsigned long long>(next >> 4) << 16 |
         (1024ull >> 4) << 32 | 1ull << 62;
}

template <class In>
constexpr bool kIsHalf = false;
template <>
constexpr bool kIsHalf<__half> = true;

// Before the first product, and wherever registers with sums were touched since the last.
__device__ __forceinline__ void warpgroup_arrive() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ __forceinline__ void warpgroup_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most `Pending` of the groups that were committed are under way.
template <int Pending>
__device__ __forceinline__ void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

#define CUDA_KERNELS_MULTIPLY_8(TYPE) \
  asm volatile( \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %6, 0;\n" \
      "wgmma.mma_async.sync.aligned.m64n8k16.f32." TYPE "." TYPE " " \
      "{%0, %1, %2, %3}, " \
      "%4, %5, add, 1, 1, %7, %8;\n}" \
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]) \
      : "l"(a), "l"(b), "r"(add), "n"(kAcrossA), "n"(kAcrossB))

#define CUDA_KERNELS_MULTIPLY_16(TYPE) \
  asm volatile( \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %10, 0;\n" \
      "wgmma.mma_async.sync.aligned.m64n16k16.f32." TYPE "." TYPE " " \
      "{%0, %1, %2, %3, %4, %5, %6, %7}, " \
      "%8, %9, add, 1, 1, %11, %12;\n}" \
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7]) \
      : "l"(a), "l"(b), "r"(add), "n"(kAcrossA), "n"(kAcrossB))

#define CUDA_KERNELS_MULTIPLY_32(TYPE) \
  asm volatile( \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %18, 0;\n" \
      "wgmma.mma_async.sync.aligned.m64n32k16.f32." TYPE "." TYPE " " \
      "{%0, %1, %2, %3, %4, %5, %6, %7, " \
      " %8, %9, %10, %11, %12, %13, %14, %15}, " \
      "%16, %17, add, 1, 1, %19, %20;\n}" \
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7]), \
        "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15]) \
      : "l"(a), "l"(b), "r"(add), "n"(kAcrossA), "n"(kAcrossB))

#define CUDA_KERNELS_MULTIPLY_64(TYPE) \
  asm volatile( \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %34, 0;\n" \
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " " \
      "{%0, %1, %2, %3, %4, %5, %6, %7, " \
      " %8, %9, %10, %11, %12, %13, %14, %15, " \
      " %16, %17, %18, %19, %20, %21, %22, %23, " \
      " %24, %25, %26, %27, %28, %29, %30, %31}, " \
      "%32, %33, add, 1, 1, %35, %36;\n}" \
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7]), \
        "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15]), \
        "+f"(s[16]), "+f"(s[17]), "+f"(s[18]), "+f"(s[19]), "+f"(s[20]), "+f"(s[21]), "+f"(s[22]), "+f"(s[23]), \
        "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]), "+f"(s[28]), "+f"(s[29]), "+f"(s[30]), "+f"(s[31]) \
      : "l"(a), "l"(b), "r"(add), "n"(kAcrossA), "n"(kAcrossB))

#define CUDA_KERNELS_MULTIPLY_96(TYPE) \
  asm volatile( \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %50, 0;\n" \
      "wgmma.mma_async.sync.aligned.m64n96k16.f32." TYPE "." TYPE " " \
      "{%0, %1, %2, %3, %4, %5, %6, %7, " \
      " %8, %9, %10, %11, %12, %13, %14, %15, " \
      " %16, %17, %18, %19, %20, %21, %22, %23, " \
      " %24, %25, %26, %27, %28, %29, %30, %31, " \
      " %32, %33, %34, %35, %36, %37, %38, %39, " \
      " %40, %41, %42, %43, %44, %45, %46, %47}, " \
      "%48, %49, add, 1, 1, %51, %52;\n}" \
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7]), \
        "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15]), \
        "+f"(s[16]), "+f"(s[17]), "+f"(s[18]), "+f"(s[19]), "+f"(s[20]), "+f"(s[21]), "+f"(s[22]), "+f"(s[23]), \
        "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]), "+f"(s[28]), "+f"(s[29]), "+f"(s[30]), "+f"(s[31]), \
        "+f"(s[32]), "+f"(s[33]), "+f"(s[34]), "+f"(s[35]), "+f"(s[36]), "+f"(s[37]), "+f"(s[38]), "+f"(s[39]), \
        "+f"(s[40]), "+f"(s[41]), "+f"(s[42]), "+f"(s[43]), "+f"(s[44]), "+f"(s[45]), "+f"(s[46]), "+f"(s[47]) \
      : "l"(a), "l"(b), "r"(add), "n"(kAcrossA), "n"(kAcrossB))

#define CUDA_KERNELS_MULTIPLY_128(TYPE) \
  asm volatile( \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n" \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " " \
      "{%0, %1, %2, %3, %4, %5, %6, %7, " \
      " %8, %9, %10, %11, %12, %13, %14, %15, " \
      " %16, %17, %18, %19, %20, %21, %22, %23, " \
      " %24, %25, %26, %27, %28, %29, %30, %31, " \
      " %32, %33, %34, %35, %36, %37, %38, %39, " \
      " %40, %41, %42, %43, %44, %45, %46, %47, " \
      " %48, %49, %50, %51, %52, %53, %54, %55, " \
      " %56, %57, %58, %59, %60, %61, %62, %63}, " \
      "%64, %65, add, 1, 1, %67, %68;\n}" \
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7]), \
        "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15]), \
        "+f"(s[16]), "+f"(s[17]), "+f"(s[18]), "+f"(s[19]), "+f"(s[20]), "+f"(s[21]), "+f"(s[22]), "+f"(s[23]), \
        "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]), "+f"(s[28]), "+f"(s[29]), "+f"(s[30]), "+f"(s[31]), \
        "+f"(s[32]), "+f"(s[33]), "+f"(s[34]), "+f"(s[35]), "+f"(s[36]), "+f"(s[37]), "+f"(s[38]), "+f"(s[39]), \
        "+f"(s[40]), "+f"(s[41]), "+f"(s[42]), "+f"(s[43]), "+f"(s[44]), "+f"(s[45]), "+f"(s[46]), "+f"(s[47]), \
        "+f"(s[48]), "+f"(s[49]), "+f"(s[50]), "+f"(s[51]), "+f"(s[52]), "+f"(s[53]), "+f"(s[54]), "+f"(s[55]), \
        "+f"(s[56]), "+f"(s[57]), "+f"(s[58]), "+f"(s[59]), "+f"(s[60]), "+f"(s[61]), "+f"(s[62]), "+f"(s[63]) \
      : "l"(a), "l"(b), "r"(add), "n"(kAcrossA), "n"(kAcrossB))

#define CUDA_KERNELS_MULTIPLY_192(TYPE) \
  asm volatile( \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %98, 0;\n" \
      "wgmma.mma_async.sync.aligned.m64n192k16.f32." TYPE "." TYPE " " \
      "{%0, %1, %2, %3, %4, %5, %6, %7, " \
      " %8, %9, %10, %11, %12, %13, %14, %15, " \
      " %16, %17, %18, %19, %20, %21, %22, %23, " \
      " %24, %25, %26, %27, %28, %29, %30, %31, " \
      " %32, %33, %34, %35, %36, %37, %38, %39, " \
      " %40, %41, %42, %43, %44, %45, %46, %47, " \
      " %48, %49, %50, %51, %52, %53, %54, %55, " \
      " %56, %57, %58, %59, %60, %61, %62, %63, " \
      " %64, %65, %66, %67, %68, %69, %70, %71, " \
      " %72, %73, %74, %75, %76, %77, %78, %79, " \
      " %80, %81, %82, %83, %84, %85, %86, %87, " \
      " %88, %89, %90, %91, %92, %93, %94, %95}, " \
      "%96, %97, add, 1, 1, %99, %100;\n}" \
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7]), \
        "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15]), \
        "+f"(s[16]), "+f"(s[17]), "+f"(s[18]), "+f"(s[19]), "+f"(s[20]), "+f"(s[21]), "+f"(s[22]), "+f"(s[23]), \
        "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]), "+f"(s[28]), "+f"(s[29]), "+f"(s[30]), "+f"(s[31]), \
        "+f"(s[32]), "+f"(s[33]), "+f"(s[34]), "+f"(s[35]), "+f"(s[36]), "+f"(s[37]), "+f"(s[38]), "+f"(s[39]), \
        "+f"(s[40]), "+f"(s[41]), "+f"(s[42]), "+f"(s[43]), "+f"(s[44]), "+f"(s[45]), "+f"(s[46]), "+f"(s[47]), \
        "+f"(s[48]), "+f"(s[49]), "+f"(s[50]), "+f"(s[51]), "+f"(s[52]), "+f"(s[53]), "+f"(s[54]), "+f"(s[55]), \
        "+f"(s[56]), "+f"(s[57]), "+f"(s[58]), "+f"(s[59]), "+f"(s[60]), "+f"(s[61]), "+f"(s[62]), "+f"(s[63]), \
        "+f"(s[64]), "+f"(s[65]), "+f"(s[66]), "+f"(s[67]), "+f"(s[68]), "+f"(s[69]), "+f"(s[70]), "+f"(s[71]), \
        "+f"(s[72]), "+f"(s[73]), "+f"(s[74]), "+f"(s[75]), "+f"(s[76]), "+f"(s[77]), "+f"(s[78]), "+f"(s[79]), \
        "+f"(s[80]), "+f"(s[81]), "+f"(s[82]), "+f"(s[83]), "+f"(s[84]), "+f"(s[85]), "+f"(s[86]), "+f"(s[87]), \
        "+f"(s[88]), "+f"(s[89]), "+f"(s[90]), "+f"(s[91]), "+f"(s[92]), "+f"(s[93]), "+f"(s[94]), "+f"(s[95]) \
      : "l"(a), "l"(b), "r"(add), "n"(kAcrossA), "n"(kAcrossB))

#define CUDA_KERNELS_MULTIPLY_256(TYPE) \
  asm volatile( \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n" \
      "wgmma.mma_async.sync.aligned.m64n256k16.f32." TYPE "." TYPE " " \
      "{%0, %1, %2, %3, %4, %5, %6, %7, " \
      " %8, %9, %10, %11, %12, %13, %14, %15, " \
      " %16, %17, %18, %19, %20, %21, %22, %23, " \
      " %24, %25, %26, %27, %28, %29, %30, %31, " \
      " %32, %33, %34, %35, %36, %37, %38, %39, " \
      " %40, %41, %42, %43, %44, %45, %46, %47, " \
      " %48, %49, %50, %51, %52, %53, %54, %55, " \
      " %56, %57, %58, %59, %60, %61, %62, %63, " \
      " %64, %65, %66, %67, %68, %69, %70, %71, " \
      " %72, %73, %74, %75, %76, %77, %78, %79, " \
      " %80, %81, %82, %83, %84, %85, %86, %87, " \
      " %88, %89, %90, %91, %92, %93, %94, %95, " \
      " %96, %97, %98, %99, %100, %101, %102, %103, " \
      " %104, %105, %106, %107, %108, %109, %110, %111, " \
      " %112, %113, %114, %115, %116, %117, %118, %119, " \
      " %120, %121, %122, %123, %124, %125, %126, %127}, " \
      "%128, %129, add, 1, 1, %131, %132;\n}" \
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7]), \
        "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15]), \
        "+f"(s[16]), "+f"(s[17]), "+f"(s[18]), "+f"(s[19]), "+f"(s[20]), "+f"(s[21]), "+f"(s[22]), "+f"(s[23]), \
        "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]), "+f"(s[28]), "+f"(s[29]), "+f"(s[30]), "+f"(s[31]), \
        "+f"(s[32]), "+f"(s[33]), "+f"(s[34]), "+f"(s[35]), "+f"(s[36]), "+f"(s[37]), "+f"(s[38]), "+f"(s[39]), \
        "+f"(s[40]), "+f"(s[41]), "+f"(s[42]), "+f"(s[43]), "+f"(s[44]), "+f"(s[45]), "+f"(s[46]), "+f"(s[47]), \
        "+f"(s[48]), "+f"(s[49]), "+f"(s[50]), "+f"(s[51]), "+f"(s[52]), "+f"(s[53]), "+f"(s[54]), "+f"(s[55]), \
        "+f"(s[56]), "+f"(s[57]), "+f"(s[58]), "+f"(s[59]), "+f"(s[60]), "+f"(s[61]), "+f"(s[62]), "+f"(s[63]), \
        "+f"(s[64]), "+f"(s[65]), "+f"(s[66]), "+f"(s[67]), "+f"(s[68]), "+f"(s[69]), "+f"(s[70]), "+f"(s[71]), \
        "+f"(s[72]), "+f"(s[73]), "+f"(s[74]), "+f"(s[75]), "+f"(s[76]), "+f"(s[77]), "+f"(s[78]), "+f"(s[79]), \
        "+f"(s[80]), "+f"(s[81]), "+f"(s[82]), "+f"(s[83]), "+f"(s[84]), "+f"(s[85]), "+f"(s[86]), "+f"(s[87]), \
        "+f"(s[88]), "+f"(s[89]), "+f"(s[90]), "+f"(s[91]), "+f"(s[92]), "+f"(s[93]), "+f"(s[94]), "+f"(s[95]), \
        "+f"(s[96]), "+f"(s[97]), "+f"(s[98]), "+f"(s[99]), "+f"(s[100]), "+f"(s[101]), "+f"(s[102]), "+f"(s[103]), \
        "+f"(s[104]), "+f"(s[105]), "+f"(s[106]), "+f"(s[107]), "+f"(s[108]), "+f"(s[109]), "+f"(s[110]), "+f"(s[111]), \
        "+f"(s[112]), "+f"(s[113]), "+f"(s[114]), "+f"(s[115]), "+f"(s[116]), "+f"(s[117]), "+f"(s[118]), "+f"(s[119]), \
        "+f"(s[120]), "+f"(s[121]), "+f"(s[122]), "+f"(s[123]), "+f"(s[124]), "+f"(s[125]), "+f"(s[126]), "+f"(s[127]) \
      : "l"(a), "l"(b), "r"(add), "n"(kAcrossA), "n"(kAcrossB))

// sums (+)= A B, over 16 of k: `add` 0 begins anew. kAcrossA and kAcrossB say that a tile's rows lie across k.
template <class In, int N, int kAcrossA, int kAcrossB>
__device__ __forceinline__ void multiply(float (&s)[N / 2],
                                         unsigned long long a,
                                         unsigned long long b,
                                         int add) {
#define CUDA_KERNELS_MULTIPLY(SIZE)         \
  if constexpr (N == SIZE && kIsHalf<In>) { \
    CUDA_KERNELS_MULTIPLY_##SIZE("f16");    \
  } else if constexpr (N == SIZE) {         \
    CUDA_KERNELS_MULTIPLY_##SIZE("bf16");   \
  }
  CUDA_KERNELS_MULTIPLY(8)
  CUDA_KERNELS_MULTIPLY(16)
  CUDA_KERNELS_MULTIPLY(32)
  CUDA_KERNELS_MULTIPLY(64)
  CUDA_KERNELS_MULTIPLY(96)
  CUDA_KERNELS_MULTIPLY(128)
  CUDA_KERNELS_MULTIPLY(192)
  CUDA_KERNELS_MULTIPLY(256)
#undef CUDA_KERNELS_MULTIPLY
}

#undef CUDA_KERNELS_MULTIPLY_8
#undef CUDA_KERNELS_MULTIPLY_16
#undef CUDA_KERNELS_MULTIPLY_32
#undef CUDA_KERNELS_MULTIPLY_64
#undef CUDA_KERNELS_MULTIPLY_96
#undef CUDA_KERNELS_MULTIPLY_128
#undef CUDA_KERNELS_MULTIPLY_192
#undef CUDA_KERNELS_MULTIPLY_256

// Gives registers of this warpgroup up, or takes them, so that each thread has `Count`.
template <int Count>
__device__ __forceinline__ void release_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}

template <int Count>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

}  // namespace cuda_kernels
