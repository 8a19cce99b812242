// What benchmarks/gpu/functions.py launches in the place of a function in generated code.
#include "../../tests/functions/functions.cu"

extern "C" __global__ void gelu_kernel(const float* x, float* y, int n) {
  const int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (first >= n) return;
  float4 v = reinterpret_cast<const float4*>(x)[first / 4];
  v.x = my_gelu(v.x, 1.5f);
  v.y = my_gelu(v.y, 1.5f);
  v.z = my_gelu(v.z, 1.5f);
  v.w = my_gelu(v.w, 1.5f);
  reinterpret_cast<float4*>(y)[first / 4] = v;
}
