// Mistakes on purpose: which one is an argument of the call.

#include <assert.h>

enum { kNone, kAddress, kMisaligned, kTrap, kAssert };

extern "C" __global__ void fault(const float* x, float* y, int mistake, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  assert(mistake != kAssert);
  if (mistake == kTrap) __trap();
  // Far behind every allocation; or one byte further than a float may be.
  char* place = (char*)(y + i);
  if (mistake == kAddress) place += 1ll << 46;
  if (mistake == kMisaligned) place += 1;
  *(volatile float*)place = 2 * x[i];
}
