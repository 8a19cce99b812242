// Pointers that may be null. See optional.py.

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

// IREE's own order but for the optional one.
extern "C" __global__ void scale_bias(const float* x, const float* bias, float* y, int count) {
  const int i = INDEX;
  if (i < count) y[i] = 2.0f * x[i] + (bias ? bias[i] : 0.0f);
}

// Two of them among others, one in the middle of scalars.
extern "C" __global__ void affine(float* y, const float* __restrict__ weight, double shift,
                                  const float* __restrict__ bias, const float* x, long long count) {
  const long long i = INDEX;
  if (i >= count) return;
  float v = x[i];
  if (weight != nullptr) v *= weight[i];
  if (bias != nullptr) v += bias[i];
  y[i] = v + (float)shift;
}

// How many there are.
extern "C" __global__ void presence(const float* x, const float* a, const float* b, int* y) {
  const int i = INDEX;
  if (i < 4) y[i] = (a != nullptr) + 2 * (b != nullptr) + (int)x[0];
}
