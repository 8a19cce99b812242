// Calls of a function of the user's in a kernel: #include "../include/function.cuh".
//
// The compiler is told to include its source first, then custom_dispatch's header for functions, and that
// CUDA_KERNELS_FUNCTION is its name. Its last operands are the last parameters of a kernel: numbers, which are the same
// for all, and vectors with one for each column.
#pragma once

#ifdef CUDA_KERNELS_FUNCTION

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
    // With operands that convert to what is declared alone, where C++ would make an f32 of an f64.
    using Returned = decltype(CUDA_KERNELS_FUNCTION(custom_dispatch_operand(before)...));
    static_assert(kSame<Returned, Result>, "the function returns another type than its declaration says");
    return static_cast<float>(CUDA_KERNELS_FUNCTION(before...));
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

}  // namespace cuda_kernels

#endif
