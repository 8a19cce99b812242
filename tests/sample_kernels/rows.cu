// Normalisations of rows that tests put into models: a thread takes a row, so that there is little to compile.
#include <cuda_fp16.h>

template <class T>
__device__ void normalise(const T* x, const T* weight, T* y, float epsilon, int columns) {
  float squares = 0.0f;
  for (int i = 0; i < columns; ++i) squares += float(x[i]) * float(x[i]);
  const float scale = rsqrtf(squares / columns + epsilon);
  for (int i = 0; i < columns; ++i) y[i] = T(float(x[i]) * scale * float(weight[i]));
}

extern "C" __global__ void row_norm(const float* x, const float* weight, float* y, float epsilon, int rows,
                                    int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  normalise(x + row * columns, weight, y + row * columns, epsilon, columns);
}

extern "C" __global__ void row_norm_f16(const __half* x, const __half* weight, __half* y, float epsilon, int rows,
                                        int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  normalise(x + row * columns, weight, y + row * columns, epsilon, columns);
}

extern "C" __global__ void add_row_norm(const float* x, const float* residual, const float* weight, float* sum,
                                        float* y, float epsilon, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const int first = row * columns;
  for (int i = first; i < first + columns; ++i) sum[i] = x[i] + residual[i];
  normalise(sum + first, weight, y + first, epsilon, columns);
}

extern "C" __global__ void row_layer_norm(const float* x, const float* weight, const float* bias, float* y,
                                          float epsilon, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += row * columns;
  y += row * columns;
  float sum = 0.0f, squares = 0.0f;
  for (int i = 0; i < columns; ++i) sum += x[i];
  const float mean = sum / columns;
  for (int i = 0; i < columns; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const float scale = rsqrtf(squares / columns + epsilon);
  for (int i = 0; i < columns; ++i) {
    float value = (x[i] - mean) * scale;
    if (weight) value *= weight[i];
    if (bias) value += bias[i];
    y[i] = value;
  }
}
