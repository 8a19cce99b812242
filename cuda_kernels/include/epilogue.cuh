// A function of the user's as the activation of a product: #include "../include/epilogue.cuh".
//
// It is called with the sum of a product in f32, to which a bias may have been added; with an element of another tensor, if it
// takes one; and with what function.cuh says.
#pragma once

#include "function.cuh"

#ifdef CUDA_KERNELS_FUNCTION

namespace cuda_kernels {

// The function of a sum as `X`, and of the residual as `Other`, which is not added then, unless that is void.
template <class Result, class X, class Other, class... Numbers>
struct Epilogue {
  Call<Result, Numbers...> call;

  __device__ __forceinline__ float joined(float x, float residual, int column) const {
    return call(column, static_cast<X>(x), static_cast<Other>(residual));
  }
  template <class Out>
  __device__ __forceinline__ float of(float x, int) const {
    return x;
  }
};

template <class Result, class X, class... Numbers>
struct Epilogue<Result, X, void, Numbers...> {
  Call<Result, Numbers...> call;

  __device__ __forceinline__ float joined(float x, float residual, int) const { return x + residual; }
  template <class Out>
  __device__ __forceinline__ float of(float x, int column) const {
    return call(column, static_cast<X>(x));
  }
};

}  // namespace cuda_kernels

#endif
