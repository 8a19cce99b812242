// Activation functions that are chosen when a kernel runs: #include "../include/activations.cuh". One kernel serves all
// of them where compiling it takes longer than the choice, which is the same for all threads.
#pragma once

#include "activation.cuh"

namespace cuda_kernels {

// In the order of convolution/activations.py. NaN stays NaN.
enum Activations { kIdentity, kRelu, kSilu, kGeluErf, kGeluTanh, kRelu6, kHardSwish, kHardSigmoid, kSigmoid, kLeakyRelu };

__device__ __forceinline__ float between_0_and_6(float x) { return x < 0.0f ? 0.0f : x > 6.0f ? 6.0f : x; }

// `slope` is what kLeakyRelu multiplies numbers below zero by.
template <class Out>
__device__ __forceinline__ float activated(int which, float x, float slope) {
  switch (which) {
    case kRelu: return Relu::of<Out>(x);
    case kSilu: return Silu::of<Out>(x);
    case kGeluErf: return GeluErf::of<Out>(x);
    case kGeluTanh: return GeluTanh::of<Out>(x);
    case kRelu6: return between_0_and_6(x);
    case kHardSwish: return x * between_0_and_6(x + 3.0f) * (1.0f / 6.0f);
    case kHardSigmoid: return between_0_and_6(x + 3.0f) * (1.0f / 6.0f);
    case kSigmoid: return __fdividef(1.0f, 1.0f + __expf(-x));
    case kLeakyRelu: return x < 0.0f ? x * slope : x;
    default: return x;
  }
}

// The same of `count` numbers, which is known at compile time. What follows norms most often is there for each of
// them, and the rest once: it has to be fetched.
template <class Out>
__device__ __forceinline__ void activate(int which, float* some, int count, float slope) {
  if (which == kIdentity) return;
  if (which == kSilu) {
#pragma unroll
    for (int i = 0; i < count; ++i) some[i] = Silu::of<Out>(some[i]);
    return;
  }
#pragma unroll 1
  for (int turn = 0; turn < count; ++turn) {  // each is the first once
    const float first = activated<Out>(which, some[0], slope);
#pragma unroll
    for (int i = 0; i + 1 < count; ++i) some[i] = some[i + 1];
    some[count - 1] = first;
  }
}

}  // namespace cuda_kernels
