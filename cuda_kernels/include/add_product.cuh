// A product and a sum for CPUs, to be included by kernels: #include "../include/add_product.cuh".
#pragma once

namespace cuda_kernels {

// sum += x * y, in two instructions without a rounding mode, which PTX may fuse (PTX ISA, `mul`): CPUs with a fused
// multiply-add do so, and others need not emulate it.
__device__ __forceinline__ void add_product(float& sum, float x, float y) {
  asm("{\n\t.reg .f32 product;\n\tmul.f32 product, %1, %2;\n\tadd.f32 %0, %0, product;\n\t}"
      : "+f"(sum)
      : "f"(x), "f"(y));
}

}  // namespace cuda_kernels
