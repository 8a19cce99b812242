// A function of the user's as the activation of a product: #include "../include/epilogue.cuh".
//
// The compiler is told to include its source first, and that CUDA_KERNELS_EPILOGUE is its name. It is called with the sum
// of a product in f32, to which a bias may have been added; with an element of another tensor, if it takes one; and with
// what the last parameters of a kernel are: numbers, which are the same for all, and vectors with one for each column.
#pragma once

#ifdef CUDA_KERNELS_EPILOGUE

namespace cuda_kernels {

template <class One, class Other>
constexpr bool kSame = false;
template <class One>
constexpr bool kSame<One, One> = true;

// What the function is given of a parameter.
template <class Number>
__device__ __forceinline__ Number number_of(Number number, int) {
  return number;
}

template <class Element>
__device__ __forceinline__ float number_of(const Element* vector, int column) {
  return static_cast<float>(vector[column]);
}

// Calls the function, with its last operands, the first of which is outermost.
template <class Result, class... Numbers>
struct Call {
  template <class... Before>
  __device__ __forceinline__ float operator()(int, Before... before) const {
    static_assert(kSame<decltype(CUDA_KERNELS_EPILOGUE(before...)), Result>,
                  "the function of an epilogue returns another type than its declaration says");
    return static_cast<float>(CUDA_KERNELS_EPILOGUE(before...));
  }
};

template <class Result, class First, class... Rest>
struct Call<Result, First, Rest...> {
  First first;
  Call<Result, Rest...> rest;

  template <class... Before>
  __device__ __forceinline__ float operator()(int column, Before... before) const {
    return rest(column, before..., number_of(first, column));
  }
};

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
