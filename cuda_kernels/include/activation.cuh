// Activation functions, applied to f32 results. To be included by kernels: #include "../include/activation.cuh".
// Each is a type, for use as a template argument; `Out` is the type that the kernel writes. After a product `joined` is what
// becomes of a sum and the residual, if there is one, before `of` is applied; both are told the column of the result, which
// functions of the user's read vectors at (epilogue.cuh).
#pragma once

#include "epilogue.cuh"
#include "exponential.cuh"

namespace cuda_kernels {

struct OfSum {
  static __device__ __forceinline__ float joined(float x, float residual, int) { return x + residual; }
};

struct Identity : OfSum {
  template <class Out>
  static __device__ __forceinline__ float of(float x, int = 0) {
    return x;
  }
};

// NaN stays NaN.
struct Relu : OfSum {
  template <class Out>
  static __device__ __forceinline__ float of(float x, int = 0) {
    return x < 0.0f ? 0.0f : x;
  }
};

struct Silu : OfSum {
  template <class Out>
  static __device__ __forceinline__ float of(float x, int = 0) {
    return __fdividef(x, 1.0f + __expf(-x));
  }
};

__device__ __forceinline__ float gelu_of(float x) {
  return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
}

// The same, for 16-bit results: the tail of the normal distribution above a = |x| is exp(-a^2 / 2)
// times a polynomial of 1 / (1 + 0.38 a), in the form of Abramowitz and Stegun, 7.1.26. The coefficients
// are fitted to a relative error of 3.6e-5 from 0 to 14, where it is below 1e-38; half a unit in
// the last place of f16 is 4.9e-4. erff runs both sides of a branch and takes longer.
__device__ __forceinline__ float gelu_of_16_bits(float x) {
  const float given = fabsf(x), a = given > 20.0f ? 20.0f : given;  // NaN stays NaN
  const float t = __fdividef(1.0f, 1.0f + 0.38f * a);
  float above = -0.08992973f;
  above = above * t + 0.18887899f;
  above = above * t + 0.09197848f;
  above = above * t + 0.15782952f;
  above = above * t + 0.15122519f;
  return fmaxf(x, 0.0f) - a * (above * t) * exponential(-0.5f * a * a);
}

struct GeluErf : OfSum {
  template <class Out>
  static __device__ __forceinline__ float of(float x, int = 0) {
    return sizeof(Out) == 2 ? gelu_of_16_bits(x) : gelu_of(x);
  }
};

// 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2 u)), which loses no digits where tanh(u) is almost -1.
struct GeluTanh : OfSum {
  template <class Out>
  static __device__ __forceinline__ float of(float x, int = 0) {
    const float u = 0.79788456080286536f * (x + 0.044715f * x * x * x);
    return __fdividef(x, 1.0f + __expf(-2.0f * u));
  }
};

// CLIP's GELU, with a sigmoid for the normal distribution.
struct QuickGelu {
  template <class Out>
  static __device__ __forceinline__ float of(float x, int = 0) {
    return __fdividef(x, 1.0f + __expf(-1.702f * x));
  }
};

struct Sigmoid {
  template <class Out>
  static __device__ __forceinline__ float of(float x, int = 0) {
    return __fdividef(1.0f, 1.0f + __expf(-x));
  }
};

struct SquaredRelu {
  template <class Out>
  static __device__ __forceinline__ float of(float x, int = 0) {
    return x < 0.0f ? 0.0f : x * x;
  }
};

}  // namespace cuda_kernels
