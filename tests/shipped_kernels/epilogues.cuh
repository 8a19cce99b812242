// Functions that follow products in test_epilogue.py.
#include <cuda_bf16.h>

namespace epilogues {

// The tanh form of GELU, with a branch.
__device__ float limited_gelu(float x, float limit) {
  if (x > limit) return limit;
  return x / (1.0f + expf(-1.5957691216f * fmaf(0.044715f * x, x * x, x)));
}

// Of a number and of another tensor's, in the order gate, up, limit.
__device__ float gated(float x, float up, float limit) { return x / (1.0f + expf(-x)) * fminf(up, limit); }

template <class T, int Times>
__device__ T scaled(T x, int shift, bool negated) {
  const float y = static_cast<float>(x) * Times + static_cast<float>(shift);
  return static_cast<T>(negated ? -y : y);
}

// Of a vector with one for each column, and of another tensor's number.
__device__ float layer_scaled(float x, float before, float gamma, float factor, float delta) {
  return before + gamma * x * factor + delta;
}

__device__ float plain(float x) { return x * fabsf(x); }

}  // namespace epilogues
