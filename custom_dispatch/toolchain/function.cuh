// What is put before the source of a `cd.Function`.
//
// Operands and results go through types that convert to what is declared alone, where C++ would
// make an f32 of an f64: integers of one size are alike. Where the function is translated for IREE,
// marks stand for results and, with CUSTOM_DISPATCH_MLIR, for the functions of the C library that
// MLIR has too: PTX that no assembler sees, because `custom_dispatch.scalar` reads it as data.
#pragma once

template <typename T>
struct custom_dispatch_Integer {
  static constexpr bool is = __is_enum(T);
};
#define CUSTOM_DISPATCH_INTEGER(type)         \
  template <>                                 \
  struct custom_dispatch_Integer<type> {      \
    static constexpr bool is = true;          \
  };
CUSTOM_DISPATCH_INTEGER(char)
CUSTOM_DISPATCH_INTEGER(signed char)
CUSTOM_DISPATCH_INTEGER(unsigned char)
CUSTOM_DISPATCH_INTEGER(short)
CUSTOM_DISPATCH_INTEGER(unsigned short)
CUSTOM_DISPATCH_INTEGER(int)
CUSTOM_DISPATCH_INTEGER(unsigned int)
CUSTOM_DISPATCH_INTEGER(long)
CUSTOM_DISPATCH_INTEGER(unsigned long)
CUSTOM_DISPATCH_INTEGER(long long)
CUSTOM_DISPATCH_INTEGER(unsigned long long)
#undef CUSTOM_DISPATCH_INTEGER

template <typename T, typename U>
struct custom_dispatch_Fits {
  static constexpr bool is = custom_dispatch_Integer<T>::is && custom_dispatch_Integer<U>::is &&
                             sizeof(T) == sizeof(U);
};
template <typename T>
struct custom_dispatch_Fits<T, T> {
  static constexpr bool is = true;
};
template <bool fits, typename T>
struct custom_dispatch_Where {};
template <typename T>
struct custom_dispatch_Where<true, T> {
  typedef T type;
};
#define CUSTOM_DISPATCH_IF_FITS \
  typename U, typename = typename custom_dispatch_Where<custom_dispatch_Fits<T, U>::is, U>::type

template <typename T>
struct custom_dispatch_Operand {
  T value;
  template <CUSTOM_DISPATCH_IF_FITS>
  __device__ __forceinline__ operator U() const {
    return reinterpret_cast<const U&>(value);
  }
};
template <typename T>
__device__ __forceinline__ custom_dispatch_Operand<T> custom_dispatch_operand(T value) {
  return {value};
}

template <typename T>
struct custom_dispatch_Result {
  T value = {};
  template <typename U>
  __device__ __forceinline__ void operator=(const U& other) {
    static_assert(custom_dispatch_Fits<T, U>::is, "the result is of another type than is declared");
    value = reinterpret_cast<const T&>(other);
  }
};

// Of a result that is written through a reference or a pointer.
template <typename T>
struct custom_dispatch_Place {
  T* at;
  template <CUSTOM_DISPATCH_IF_FITS>
  __device__ __forceinline__ operator U&() const {
    return reinterpret_cast<U&>(*at);
  }
  template <CUSTOM_DISPATCH_IF_FITS>
  __device__ __forceinline__ operator U*() const {
    return reinterpret_cast<U*>(at);
  }
};
template <typename T>
__device__ __forceinline__ custom_dispatch_Place<T> custom_dispatch_place(
    custom_dispatch_Result<T>& result) {
  return {&result.value};
}
#undef CUSTOM_DISPATCH_IF_FITS

template <int bytes>
struct custom_dispatch_Mark;
#define CUSTOM_DISPATCH_RESULT(bytes, type, kind, constraint)                                   \
  template <>                                                                                   \
  struct custom_dispatch_Mark<bytes> {                                                          \
    typedef type Bits;                                                                          \
    template <int index>                                                                        \
    static __device__ __forceinline__ void give(type bits) {                                    \
      asm volatile("custom_dispatch.result.%0." kind " %1;" ::"n"(index), constraint(bits));    \
    }                                                                                           \
  };
CUSTOM_DISPATCH_RESULT(2, unsigned short, "b16", "h")
CUSTOM_DISPATCH_RESULT(4, unsigned int, "b32", "r")
CUSTOM_DISPATCH_RESULT(8, unsigned long long, "b64", "l")

template <int index, typename T>
__device__ __forceinline__ void custom_dispatch_result(const T& value) {
  typedef custom_dispatch_Mark<sizeof(T)> Mark;
  Mark::template give<index>(reinterpret_cast<const typename Mark::Bits&>(value));
}
template <int index>
__device__ __forceinline__ void custom_dispatch_result(bool value) {
  custom_dispatch_result<index>(static_cast<unsigned int>(value));
}
template <int index>
__device__ __forceinline__ void custom_dispatch_result(signed char value) {
  custom_dispatch_result<index>(static_cast<unsigned int>(value));
}
template <int index>
__device__ __forceinline__ void custom_dispatch_result(unsigned char value) {
  custom_dispatch_result<index>(static_cast<unsigned int>(value));
}

#ifdef CUSTOM_DISPATCH_MLIR
// Headers that declare the names below come first: from here on the names are macros.
#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define CUSTOM_DISPATCH_NAMES(name)       \
  namespace std {                         \
  using ::custom_dispatch_##name;         \
  using ::custom_dispatch_##name##f;      \
  }
#define CUSTOM_DISPATCH_ONE(name, mark)                                                   \
  __device__ __forceinline__ float custom_dispatch_##name##f(float x) {                   \
    float y;                                                                              \
    asm("custom_dispatch.math." mark ".f32 %0, %1;" : "=f"(y) : "f"(x));                  \
    return y;                                                                             \
  }                                                                                       \
  __device__ __forceinline__ float custom_dispatch_##name(float x) {                      \
    return custom_dispatch_##name##f(x);                                                  \
  }                                                                                       \
  template <typename T>                                                                   \
  __device__ __forceinline__ auto custom_dispatch_##name(T x) {                           \
    return name(x);                                                                       \
  }                                                                                       \
  CUSTOM_DISPATCH_NAMES(name)
#define CUSTOM_DISPATCH_TWO(name, mark)                                                   \
  __device__ __forceinline__ float custom_dispatch_##name##f(float x, float y) {          \
    float z;                                                                              \
    asm("custom_dispatch.math." mark ".f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));      \
    return z;                                                                             \
  }                                                                                       \
  __device__ __forceinline__ float custom_dispatch_##name(float x, float y) {             \
    return custom_dispatch_##name##f(x, y);                                               \
  }                                                                                       \
  template <typename T, typename U>                                                       \
  __device__ __forceinline__ auto custom_dispatch_##name(T x, U y) {                      \
    return name(x, y);                                                                    \
  }                                                                                       \
  CUSTOM_DISPATCH_NAMES(name)
CUSTOM_DISPATCH_ONE(exp, "exp")
CUSTOM_DISPATCH_ONE(exp2, "exp2")
CUSTOM_DISPATCH_ONE(expm1, "expm1")
CUSTOM_DISPATCH_ONE(log, "log")
CUSTOM_DISPATCH_ONE(log2, "log2")
CUSTOM_DISPATCH_ONE(log1p, "log1p")
CUSTOM_DISPATCH_ONE(sin, "sin")
CUSTOM_DISPATCH_ONE(cos, "cos")
CUSTOM_DISPATCH_ONE(tan, "tan")
CUSTOM_DISPATCH_ONE(asin, "asin")
CUSTOM_DISPATCH_ONE(acos, "acos")
CUSTOM_DISPATCH_ONE(atan, "atan")
CUSTOM_DISPATCH_ONE(cosh, "cosh")
CUSTOM_DISPATCH_ONE(tanh, "tanh")
CUSTOM_DISPATCH_ONE(asinh, "asinh")
CUSTOM_DISPATCH_ONE(acosh, "acosh")
CUSTOM_DISPATCH_ONE(erf, "erf")
CUSTOM_DISPATCH_TWO(pow, "powf")
CUSTOM_DISPATCH_TWO(atan2, "atan2")
#undef CUSTOM_DISPATCH_ONE
#undef CUSTOM_DISPATCH_TWO
#undef CUSTOM_DISPATCH_NAMES
__device__ __forceinline__ void custom_dispatch_sincosf(float x, float* s, float* c) {
  *s = custom_dispatch_sinf(x);
  *c = custom_dispatch_cosf(x);
}

#define exp(x) custom_dispatch_exp(x)
#define expf(x) custom_dispatch_expf(x)
#define exp2(x) custom_dispatch_exp2(x)
#define exp2f(x) custom_dispatch_exp2f(x)
#define expm1(x) custom_dispatch_expm1(x)
#define expm1f(x) custom_dispatch_expm1f(x)
#define log(x) custom_dispatch_log(x)
#define logf(x) custom_dispatch_logf(x)
#define log2(x) custom_dispatch_log2(x)
#define log2f(x) custom_dispatch_log2f(x)
#define log1p(x) custom_dispatch_log1p(x)
#define log1pf(x) custom_dispatch_log1pf(x)
#define sin(x) custom_dispatch_sin(x)
#define sinf(x) custom_dispatch_sinf(x)
#define cos(x) custom_dispatch_cos(x)
#define cosf(x) custom_dispatch_cosf(x)
#define tan(x) custom_dispatch_tan(x)
#define tanf(x) custom_dispatch_tanf(x)
#define asin(x) custom_dispatch_asin(x)
#define asinf(x) custom_dispatch_asinf(x)
#define acos(x) custom_dispatch_acos(x)
#define acosf(x) custom_dispatch_acosf(x)
#define atan(x) custom_dispatch_atan(x)
#define atanf(x) custom_dispatch_atanf(x)
#define cosh(x) custom_dispatch_cosh(x)
#define coshf(x) custom_dispatch_coshf(x)
#define tanh(x) custom_dispatch_tanh(x)
#define tanhf(x) custom_dispatch_tanhf(x)
#define asinh(x) custom_dispatch_asinh(x)
#define asinhf(x) custom_dispatch_asinhf(x)
#define acosh(x) custom_dispatch_acosh(x)
#define acoshf(x) custom_dispatch_acoshf(x)
#define erf(x) custom_dispatch_erf(x)
#define erff(x) custom_dispatch_erff(x)
#define pow(x, y) custom_dispatch_pow(x, y)
#define powf(x, y) custom_dispatch_powf(x, y)
#define atan2(x, y) custom_dispatch_atan2(x, y)
#define atan2f(x, y) custom_dispatch_atan2f(x, y)
#define sincosf(x, s, c) custom_dispatch_sincosf(x, s, c)
#endif
