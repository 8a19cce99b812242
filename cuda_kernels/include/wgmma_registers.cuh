// Matrix products of warpgroups whose A lies in registers, for sm_90a, to be included by kernels:
// #include "include/wgmma_registers.cuh".
//
// Thread t of the warpgroup has of A [64, 16] what it would have of sums: rows t / 32 * 16 + t % 32 / 4 + {0, 8}
// in turn, columns t % 4 * 2 + {0, 1}, then the same 8 columns further, two neighbours to a register. So the
// sums of one product, rounded and packed, are the A of the next.
#pragma once

#include "wgmma.cuh"

namespace cuda_kernels {

#define CUDA_KERNELS_MULTIPLY_REGISTERS_64(TYPE) \
  asm volatile( \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %37, 0;\n" \
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " " \
      "{%0, %1, %2, %3, %4, %5, %6, %7, " \
      " %8, %9, %10, %11, %12, %13, %14, %15, " \
      " %16, %17, %18, %19, %20, %21, %22, %23, " \
      " %24, %25, %26, %27, %28, %29, %30, %31}, " \
      "{%32, %33, %34, %35}, %36, add, 1, 1, %38;\n}" \
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7]), \
        "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15]), \
        "+f"(s[16]), "+f"(s[17]), "+f"(s[18]), "+f"(s[19]), "+f"(s[20]), "+f"(s[21]), "+f"(s[22]), "+f"(s[23]), \
        "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]), "+f"(s[28]), "+f"(s[29]), "+f"(s[30]), "+f"(s[31]) \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(kAcrossB))

#define CUDA_KERNELS_MULTIPLY_REGISTERS_128(TYPE) \
  asm volatile( \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %69, 0;\n" \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " " \
      "{%0, %1, %2, %3, %4, %5, %6, %7, " \
      " %8, %9, %10, %11, %12, %13, %14, %15, " \
      " %16, %17, %18, %19, %20, %21, %22, %23, " \
      " %24, %25, %26, %27, %28, %29, %30, %31, " \
      " %32, %33, %34, %35, %36, %37, %38, %39, " \
      " %40, %41, %42, %43, %44, %45, %46, %47, " \
      " %48, %49, %50, %51, %52, %53, %54, %55, " \
      " %56, %57, %58, %59, %60, %61, %62, %63}, " \
      "{%64, %65, %66, %67}, %68, add, 1, 1, %70;\n}" \
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7]), \
        "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15]), \
        "+f"(s[16]), "+f"(s[17]), "+f"(s[18]), "+f"(s[19]), "+f"(s[20]), "+f"(s[21]), "+f"(s[22]), "+f"(s[23]), \
        "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]), "+f"(s[28]), "+f"(s[29]), "+f"(s[30]), "+f"(s[31]), \
        "+f"(s[32]), "+f"(s[33]), "+f"(s[34]), "+f"(s[35]), "+f"(s[36]), "+f"(s[37]), "+f"(s[38]), "+f"(s[39]), \
        "+f"(s[40]), "+f"(s[41]), "+f"(s[42]), "+f"(s[43]), "+f"(s[44]), "+f"(s[45]), "+f"(s[46]), "+f"(s[47]), \
        "+f"(s[48]), "+f"(s[49]), "+f"(s[50]), "+f"(s[51]), "+f"(s[52]), "+f"(s[53]), "+f"(s[54]), "+f"(s[55]), \
        "+f"(s[56]), "+f"(s[57]), "+f"(s[58]), "+f"(s[59]), "+f"(s[60]), "+f"(s[61]), "+f"(s[62]), "+f"(s[63]) \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(kAcrossB))

// sums (+)= A B, over 16 of k: `add` 0 begins anew. The registers of A must stay as they are until the product was
// waited for.
template <class In, int N, int kAcrossB>
__device__ __forceinline__ void multiply_registers(float (&s)[N / 2],
                                                   const unsigned (&a)[4],
                                                   unsigned long long b,
                                                   int add) {
  static_assert(N == 64 || N == 128, "sizes of heads");
  if constexpr (N == 64 && kIsHalf<In>) {
    CUDA_KERNELS_MULTIPLY_REGISTERS_64("f16");
  } else if constexpr (N == 64) {
    CUDA_KERNELS_MULTIPLY_REGISTERS_64("bf16");
  } else if constexpr (kIsHalf<In>) {
    CUDA_KERNELS_MULTIPLY_REGISTERS_128("f16");
  } else {
    CUDA_KERNELS_MULTIPLY_REGISTERS_128("bf16");
  }
}

#undef CUDA_KERNELS_MULTIPLY_REGISTERS_64
#undef CUDA_KERNELS_MULTIPLY_REGISTERS_128

}  // namespace cuda_kernels
