// Signatures as real code has them, none of them IREE's own. See signatures.py.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

struct Mixed { float a; int b; short c; };

extern "C" __global__ void mixed(int count, double d, const float* x, long long w, Mixed p,
                                 float* y, bool flag) {
  const int i = INDEX;
  if (i < count) y[i] = flag ? (float)(x[i] * d + w) + p.a * p.b + p.c : -1.0f;
}

extern "C" __global__ void out_first(float* y, const float* x, int count) {
  const int i = INDEX;
  if (i < count) y[i] = 2.0f * x[i];
}

extern "C" __global__ void scalars_first(float alpha, int count, const float* x, float* y) {
  const int i = INDEX;
  if (i < count) y[i] = alpha * x[i];
}

extern "C" __global__ void size_count(const float* x, float* y, size_t count) {
  for (size_t i = INDEX; i < count; i += (size_t)gridDim.x * blockDim.x) y[i] = -x[i];
}

extern "C" __global__ void out_in_inout(float* difference, const float* x, float* total,
                                        unsigned long long count) {
  const unsigned long long i = INDEX;
  if (i >= count) return;
  difference[i] = x[i] - total[i];
  total[i] += x[i];
}

extern "C" __global__ void axpby(double* y, double a, const double* x, double b,
                                 const double* z, long long count) {
  const long long i = INDEX;
  if (i < count) y[i] = a * x[i] - b * z[i];
}

struct Padded { signed char tag; double weight; short shift; int factor; unsigned char last; };

extern "C" __global__ void padded_struct(Padded p, const double* x, double* y, int count) {
  const int i = INDEX;
  if (i < count) y[i] = x[i] * p.weight + (p.tag * 1000000 + p.shift * p.factor - p.last);
}

struct Table { int length; float values[9]; long long offset; };

// A parameter that is indexed at run time, so its address is taken.
extern "C" __global__ void table_lookup(const int* x, Table table, float* y, int count) {
  const int i = INDEX;
  if (i < count) y[i] = table.values[x[i] % table.length] + table.offset;
}

extern "C" __global__ void grid_constant(const __grid_constant__ Table table, const int* x,
                                         int count, float* y) {
  const int i = INDEX;
  if (i >= count) return;
  const float* first = table.values;
  y[i] = first[(x[i] + 1) % table.length] - table.offset;
}

struct Curve { double coefficients[6]; int degree; };

__device__ __forceinline__ double evaluate(const Curve& curve, double x) {
  double value = 0.0;
  for (int k = curve.degree; k >= 0; --k) value = value * x + curve.coefficients[k];
  return value;
}

// A reference to a parameter, and a loop that loads from it.
extern "C" __global__ void polynomial(double* y, Curve curve, const double* x, int count) {
  const int i = INDEX;
  if (i < count) y[i] = evaluate(curve, x[i]);
}

struct Range { float low, high; };

extern "C" __global__ void two_structs(Range range, const float* x, Mixed p, float* y,
                                       Range again, int count) {
  const int i = INDEX;
  if (i >= count) return;
  const float v = fminf(fmaxf(x[i], range.low), range.high);
  y[i] = v * p.b + p.c + again.low - again.high * p.a;
}

extern "C" __global__ void vector4(float4 v, const float* x, float* y, int count) {
  const int i = INDEX;
  if (i < count) y[i] = ((v.x * x[i] + v.y) * x[i] + v.z) * x[i] + v.w;
}

extern "C" __global__ void vectors(int count, const double* x, double2 v, uint3 cell, double* y,
                                   short2 pair) {
  const int i = INDEX;
  if (i < count) y[i] = x[i] * v.x + v.y + cell.x + 10.0 * cell.y + 100.0 * cell.z + pair.x * pair.y;
}

extern "C" __global__ void bytes(signed char a, unsigned char b, short c, unsigned short d, char e,
                                 const int* x, int* y, int count) {
  const int i = INDEX;
  if (i < count) y[i] = x[i] + a + 1000 * b + c - d + e;
}

extern "C" __global__ void unused(double nothing, const float* x, long long also_nothing,
                                  Padded neither, float* y, int count) {
  const int i = INDEX;
  if (i < count) y[i] = x[i] + 1.0f;
}

extern "C" __global__ void flags(bool negate, const float* x, bool twice, float* y, bool shift,
                                 int count) {
  const int i = INDEX;
  if (i >= count) return;
  float v = x[i];
  if (negate) v = -v;
  if (twice) v = 2.0f * v;
  if (shift) v = v + 1.0f;
  y[i] = v;
}

extern "C" __global__ void strided(const float* x, long long row_stride, long long column_stride,
                                   float* y, long long y_stride, int rows, int columns) {
  const int i = INDEX;
  if (i >= rows * columns) return;
  const long long row = i / columns, column = i % columns;
  y[row * y_stride + column] = x[row * row_stride + column * column_stride];
}

// An optimiser's step: two buffers are updated, between scalars.
extern "C" __global__ void momentum_step(float rate, float* weights, const float* gradient,
                                         float beta, float* momentum, size_t count) {
  const size_t i = INDEX;
  if (i >= count) return;
  const float m = beta * momentum[i] + gradient[i];
  momentum[i] = m;
  weights[i] = weights[i] - rate * m;
}

extern "C" __global__ void hash(unsigned long long seed, const int* x, int count, int* y) {
  const int i = INDEX;
  if (i >= count) return;
  unsigned long long v = (seed ^ (unsigned long long)(unsigned)x[i]) * 6364136223846793005ull;
  y[i] = (int)(v >> 33);
}

struct TensorInfo { long long sizes[3]; long long strides[3]; int dims; bool contiguous; };

extern "C" __global__ void gather_strided(const float* x, TensorInfo info, float* y,
                                          unsigned int count) {
  const unsigned int i = INDEX;
  if (i >= count) return;
  long long rest = i, offset = 0;
  for (int d = info.dims - 1; d >= 0; --d) {
    offset += rest % info.sizes[d] * info.strides[d];
    rest /= info.sizes[d];
  }
  y[i] = info.contiguous ? x[i] : x[offset];
}

struct Colour { unsigned char r, g, b; };

extern "C" __global__ void odd_struct(Colour colour, const int* x, int* y, int count) {
  const int i = INDEX;
  if (i < count) y[i] = x[i] + 65536 * colour.r + 256 * colour.g + colour.b;
}

// The kernel's own copy of a parameter is changed.
extern "C" __global__ void changed_copy(const int* x, Table table, float* y, int count) {
  const int i = INDEX;
  if (i >= count) return;
  table.values[x[i] % 9] += 1.0f;
  y[i] = table.values[x[i] % 5];
}

struct Wrapped { float value; };
struct Nested { Range range; Wrapped factor; struct { int k; short s; } inner; };

extern "C" __global__ void nested(Wrapped w, float* y, Nested p, const float* x, int count) {
  const int i = INDEX;
  if (i < count) y[i] = x[i] * w.value + p.range.low - p.range.high + p.factor.value * p.inner.k + p.inner.s;
}

extern "C" __global__ void line_of_points(double start, double step, float* y, long long count) {
  const long long i = INDEX;
  if (i < count) y[i] = (float)(start + i * step);
}

extern "C" __global__ void half_scalars(__half a, const float* x, __half2 pair, __nv_bfloat16 b,
                                        float* y, int count) {
  const int i = INDEX;
  if (i < count) y[i] = x[i] + __half2float(a) + __low2float(pair) * __high2float(pair) + __bfloat162float(b);
}

// Two parameters whose addresses are taken, one of them a pointer's struct-less neighbour.
extern "C" __global__ void two_tables(const __grid_constant__ Table a, const int* x,
                                      const __grid_constant__ Table b, float* y, int count) {
  const int i = INDEX;
  if (i >= count) return;
  const Table* chosen = x[i] % 2 ? &a : &b;
  y[i] = chosen->values[x[i] % chosen->length] + chosen->offset;
}

// Several loads of one parameter, some of them under a condition.
extern "C" __global__ void loaded_twice(const double* x, double scale, double* y, long long shift,
                                        int count) {
  const int i = INDEX;
  if (i >= count) return;
  double v = x[i];
  if (v > scale) v = v - scale; else v = v * scale + shift;
  __threadfence_block();
  y[i] = v < 0.0 ? v + shift : v - scale * shift;
}

__device__ __noinline__ float pick(const Table* table, int k) {
  return table->values[k % table->length] + table->offset;
}

// The generic address of a parameter, handed to a function.
extern "C" __global__ void generic_address(float* y, const __grid_constant__ Table table,
                                           const int* x, int count) {
  const int i = INDEX;
  if (i < count) y[i] = pick(&table, x[i]);
}
