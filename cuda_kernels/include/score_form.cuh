// What attention does to scores beside scaling and masking them: soft caps (Gemma 2), sinks (GPT-OSS), or a function of the
// user's. To be included by kernels: #include "../include/score_form.cuh".
//
// Kernels have these as a pack of operands behind all others, `Form...`: none; a soft cap and sinks; or sinks, and what the
// function takes beside a score. A soft cap c turns a scaled score s into c tanh(s / c), before the mask is added; 0 is none.
// A sink is a score of each head that no key has: it takes its share of the weights, and adds no value.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "exponential.cuh"
#include "function.cuh"

namespace cuda_kernels {

template <class T, class... Form>
struct ScoreForm;

// None of them.
template <class T>
struct ScoreForm<T> {
  static constexpr bool kIsUsual = true;
  static constexpr bool kMayHide = false;
  __device__ __forceinline__ static constexpr bool changes() { return false; }
};

// Sinks, a number of each head.
template <class T>
struct Sinks {
  const T* scores;  // null if there are none

  // The weight of a head's sink relative to 2^base, or to exp(base), as the weights of keys are: to be added to their sum.
  __device__ __forceinline__ float weight(int head, float base) const {
    return scores == nullptr ? 0.0f : power_of_two(static_cast<float>(scores[head]) * kLog2E - finite(base));
  }
  __device__ __forceinline__ float natural_weight(int head, float base) const {
    return scores == nullptr ? 0.0f : __expf(static_cast<float>(scores[head]) - finite(base));
  }

  // Where no key is seen, the sum is of nothing, and any base does.
  __device__ __forceinline__ static float finite(float base) { return base == -INFINITY ? 0.0f : base; }
};

template <class T>
struct ScoreForm<T, float, const T*> {
  static constexpr bool kIsUsual = false;
  static constexpr bool kMayHide = false;
  float softcap;
  Sinks<T> sinks;

  __device__ __forceinline__ bool changes() const { return softcap != 0.0f; }

  // A product of a query and a key, scaled and capped, in units of log2(e). c tanh(x) is c - 2 c / (1 + exp(2 x)): its error
  // is a few times 2^-24 of c, which 16-bit operands do not notice.
  __device__ __forceinline__ float scaled(float product, float scale) const {
    if (!changes()) return product * (scale * kLog2E);
    const float cap = softcap * kLog2E;
    return fmaf(-2.0f * cap, reciprocal(1.0f + power_of_two(product * (scale / softcap * (2.0f * kLog2E)))), cap);
  }

  // The same of a scaled score of f32, in units of 1.
  __device__ __forceinline__ float changed(float score) const {
    return changes() ? softcap * tanhf(score / softcap) : score;
  }

 private:
  __device__ __forceinline__ static float reciprocal(float x) {
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
  }
};

#ifdef CUDA_KERNELS_FUNCTION
// What the function makes of a scaled score; -inf hides the key, whatever a mask adds.
template <class T, class... Numbers>
struct ScoreForm<T, const T*, Numbers...> {
  static constexpr bool kIsUsual = false;
  static constexpr bool kMayHide = true;
  Sinks<T> sinks;
  Call<float, Numbers...> call;

  __device__ __forceinline__ static constexpr bool changes() { return true; }
  __device__ __forceinline__ float scaled(float product, float scale) const { return call(0, product * scale) * kLog2E; }
  __device__ __forceinline__ float changed(float score) const { return call(0, score); }
};
#endif

// Two floats of a register of 16 bits each.
template <class T>
__device__ __forceinline__ float2 unpacked_pair(unsigned bits) {
  T elements[2];
  memcpy(elements, &bits, sizeof(bits));
  float2 both;
  both.x = static_cast<float>(elements[0]);
  both.y = static_cast<float>(elements[1]);
  return both;
}

// Whether a number of the type times log2(e) may be beyond f32.
template <class T>
constexpr bool kOverflows = true;
template <>
constexpr bool kOverflows<__half> = false;

}  // namespace cuda_kernels
