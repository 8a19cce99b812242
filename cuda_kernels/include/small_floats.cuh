// Floats of 8 bits in the operands of tensor cores: to be included by kernels: #include "../include/small_floats.cuh".
// Open Compute Project, "OCP 8-bit Floating Point Specification": E4M3, which has NaN and no infinities, and E5M2.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "pack.cuh"
#include "score_form.cuh"

namespace cuda_kernels {

struct F8E4M3 {
  unsigned char bits;
};
struct F8E5M2 {
  unsigned char bits;
};

// Two floats of 8 bits, the higher bytes of two 16-bit words, as two of f16.
__device__ __forceinline__ unsigned f16_pair(F8E5M2, unsigned bytes) { return bytes & 0xff00ff00u; }

__device__ __forceinline__ unsigned f16_pair(F8E4M3, unsigned bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  unsigned result;
  const unsigned short both = static_cast<unsigned short>(__byte_perm(bytes, 0, 0x0031));
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(result) : "h"(both));
  return result;
#else
  // The exponent is 8 less than in f16. All ones are NaN.
  const unsigned magnitude = bytes & 0x7f007f00u, ones = (magnitude + 0x01000100u) & 0x80008000u;
  const unsigned small = (magnitude >> 1) | (bytes & 0x80008000u);
  __half2 value;
  memcpy(&value, &small, sizeof(small));
  value = __hmul2(value, __floats2half2_rn(256.0f, 256.0f));
  unsigned result;
  memcpy(&result, &value, sizeof(result));
  return result | (ones - (ones >> 15));
#endif
}

// Four floats of 8 bits as two pairs of T.
template <class T, class U>
__device__ __forceinline__ void widen(unsigned bytes, unsigned& low, unsigned& high) {
  low = f16_pair(U(), __byte_perm(bytes, 0, 0x1404));
  high = f16_pair(U(), __byte_perm(bytes, 0, 0x3424));
  if constexpr (!kOverflows<T>) return;  // f16
  const float2 first = unpacked_pair<__half>(low), second = unpacked_pair<__half>(high);
  low = packed_pair<__nv_bfloat16>(first.x, first.y);
  high = packed_pair<__nv_bfloat16>(second.x, second.y);
}

// Bytes 0, 2, 1 and 3.
__device__ __forceinline__ unsigned alternating(unsigned bytes) { return __byte_perm(bytes, 0, 0x3120); }

// Loads two matrices as `ldmatrix` does: the addresses of their rows are those of lanes 0 to 15.
__device__ __forceinline__ void ldmatrix_pair(unsigned& first, unsigned& second, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(first), "=r"(second)
               : "r"(address)
               : "memory");
}

// The two words at an address in shared memory that is a multiple of 8.
__device__ __forceinline__ void load_pairs(unsigned& first, unsigned& second, unsigned address) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(first), "=r"(second) : "r"(address) : "memory");
}

}  // namespace cuda_kernels
