// Kernels that need memory while they run, which no caller sees.

// Each block reverses its part of x, by way of its part of the scratch, which it reads as other
// threads wrote it.
extern "C" __global__ void reversed(const float *x, void *scratch, float *y, int count) {
  float *staged = static_cast<float *>(scratch);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) staged[i] = x[i];
  __syncthreads();
  int last = min(count, static_cast<int>((blockIdx.x + 1) * blockDim.x)) - 1;
  int from = blockIdx.x * blockDim.x + last - i;
  if (i < count) y[i] = staged[from];
}

// Where the scratches are: alignment[i] = the least multiple of two that divides the i-th address.
extern "C" __global__ void alignments(const float *x, int *alignment, unsigned char *first,
                                      double *second, long long *third) {
  unsigned long long at[] = {(unsigned long long)first, (unsigned long long)second,
                             (unsigned long long)third};
  for (int i = 0; i < 3; i++) alignment[i] = static_cast<int>(at[i] & (~at[i] + 1) & 0xffff);
  first[0] = 1;
  second[0] = 2;
  third[static_cast<int>(x[0])] = 3;
  alignment[3] = first[0] + static_cast<int>(second[0]) + static_cast<int>(third[static_cast<int>(x[0])]);
}

// x += 1, in place, by way of a scratch.
extern "C" __global__ void incremented(float *scratch, float *x, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  scratch[i] = x[i];
  x[i] = scratch[i] + 1;
}
