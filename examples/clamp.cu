// y[i] = x[i], but no less than low and no more than high. One thread an element.
extern "C" __global__ void clamp(const float* __restrict__ x, float* __restrict__ y, float low, float high, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = fminf(fmaxf(x[i], low), high);
}
