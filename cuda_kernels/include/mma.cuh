// Warp-level MMA (mma.sync, ldmatrix) and asynchronous copies (cp.async) of sm_80 and later, to be included by kernels:
// #include "../include/mma.cuh". PTX ISA 9.0, sections 9.7.14 (mma, ldmatrix) and 9.7.9.25 (cp.async).
//
// Fragments, with lane = 4 * g + t. Of A [16, 16]: rows g and g + 8 in turn, columns 2t and 2t + 1, then the
// same 8 columns further. Of B [16, 8]: column g, rows 2t and 2t + 1, then 8 rows further. Of C [16, 8]: row g,
// columns 2t and 2t + 1, then row g + 8.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "shared_address.cuh"

namespace cuda_kernels {

// Issues a copy of `bytes` bytes to Size bytes of shared memory, 4, 8 or 16, and fills the rest with zeros; does nothing
// unless `really`. Both addresses are multiples of Size; if `bytes` is 0, `from` may be any address.
// Copies of 16 bypass the L1 cache, and prefetch the 128 bytes around them into the L2 cache.
template <int Size = 16>
__device__ __forceinline__ void cp_async(unsigned to, const void* from, int bytes, bool really = true) {
  if constexpr (Size == 16) {
    asm volatile(
        "{\n  .reg .pred p;\n  setp.ne.s32 p, %3, 0;\n"
        "  @p cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n}" ::"r"(to),
        "l"(from), "r"(bytes), "r"(static_cast<int>(really))
        : "memory");
  } else {
    asm volatile(
        "{\n  .reg .pred p;\n  setp.ne.s32 p, %4, 0;\n"
        "  @p cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;\n}" ::"r"(to),
        "l"(from), "n"(Size), "r"(bytes), "r"(static_cast<int>(really))
        : "memory");
  }
}

// Commits the copies that this thread issued since the last group.
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most the latest `Rest` groups of this thread are pending.
template <int Rest>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Rest) : "memory");
}

// Loads four matrices of 8 x 8 16-bit elements: lanes 8 i to 8 i + 7 give the addresses of the rows of matrix i,
// and lane 4 * g + t gets columns 2t and 2t + 1 of row g in register i.
__device__ __forceinline__ void ldmatrix(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// The same for the transposed matrices: rows 2t and 2t + 1 of column g.
__device__ __forceinline__ void ldmatrix_transposed(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// c += a b, for fragments of A [16, 16] and B [16, 8] of f16 or bf16 and of C [16, 8] of f32.
__device__ __forceinline__ void mma(__half, float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void mma(__nv_bfloat16, float (&c)[4], const unsigned (&a)[4],
                                    const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The bits of a number rounded to TF32, to nearest, which is away from zero between two.
__device__ __forceinline__ unsigned rounded_to_tf32(float value) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}

// The same for A [16, 8] and B [8, 8] of f32, without their last 13 bits: for A, rows g and g + 8 in turn, column t,
// then 4 columns further; for B, column g, row t, then 4 rows further.
__device__ __forceinline__ void mma(float, float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

}  // namespace cuda_kernels
