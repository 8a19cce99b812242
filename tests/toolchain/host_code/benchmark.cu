// A benchmark as it is often published: the kernel, a CPU reference, timing, and a `main`.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(call)                                                      \
  do {                                                                        \
    cudaError_t status = (call);                                              \
    if (status != cudaSuccess) {                                              \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      exit(EXIT_FAILURE);                                                     \
    }                                                                         \
  } while (0)

__global__ void scale(const float* x, float* y, float factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = factor * x[i];
}

void scale_on_cpu(const float* x, float* y, float factor, int count) {
  for (int i = 0; i < count; ++i) y[i] = factor * x[i];
}

static double milliseconds() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char** argv) {
  int count = argc > 1 ? atoi(argv[1]) : 1 << 20;
  std::vector<float> x(count, 1.0f), expected(count), got(count);
  float *device_x, *device_y;
  CUDA_CHECK(cudaMalloc(&device_x, count * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&device_y, count * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(device_x, x.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  double start = milliseconds();
  scale<<<(count + 255) / 256, 256>>>(device_x, device_y, 2.0f, count);
  CUDA_CHECK(cudaDeviceSynchronize());
  printf("%f ms\n", milliseconds() - start);
  CUDA_CHECK(cudaMemcpy(got.data(), device_y, count * sizeof(float), cudaMemcpyDeviceToHost));
  scale_on_cpu(x.data(), expected.data(), 2.0f, count);
  for (int i = 0; i < count; ++i)
    if (std::fabs(got[i] - expected[i]) > 1e-6f) return 1;
  return 0;
}
