// A tensor map of a row-major matrix of f16, made by one warp in the memory of a kernel's result: PTX ISA,
// "tensormap.replace", "tensormap.cp_fenceproxy".
struct alignas(128) Map {
  unsigned words[32];
};

#define REPLACE(FIELD, TYPE, CONSTRAINT, ORDINAL, VALUE)                                                   \
  asm volatile("tensormap.replace.tile." FIELD ".shared::cta.b1024." TYPE " [%0]" ORDINAL ", %1;" ::"r"(at), \
               CONSTRAINT(VALUE)                                                                           \
               : "memory")

// Swizzle: 2 for rows of 64 bytes in a box, 3 for 128.
template <int Swizzle>
__device__ void fill(
    const unsigned short* matrix, unsigned* map, int columns, int rows, int box_columns, int box_rows) {
  __shared__ Map staging;
  staging.words[threadIdx.x] = 0;
  __syncwarp();
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&staging));
  if (threadIdx.x == 0) {
    REPLACE("global_address", "b64", "l", "", matrix);
    REPLACE("rank", "b32", "n", "", 1);  // minus one
    REPLACE("box_dim", "b32", "r", ", 0", box_columns);
    REPLACE("box_dim", "b32", "r", ", 1", box_rows);
    REPLACE("global_dim", "b32", "r", ", 0", columns);
    REPLACE("global_dim", "b32", "r", ", 1", rows);
    REPLACE("global_stride", "b64", "l", ", 0", static_cast<unsigned long long>(columns) * 2);
    REPLACE("element_stride", "b32", "r", ", 0", 1);
    REPLACE("element_stride", "b32", "r", ", 1", 1);
    REPLACE("elemtype", "b32", "n", "", 6);  // f16
    REPLACE("interleave_layout", "b32", "n", "", 0);
    REPLACE("swizzle_mode", "b32", "n", "", Swizzle);
    REPLACE("fill_mode", "b32", "n", "", 0);  // zeros
  }
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(
          map),
      "r"(at)
      : "memory");
}

extern "C" __global__ void fill_64(
    const unsigned short* matrix, unsigned* map, int columns, int rows, int box_columns, int box_rows) {
  fill<2>(matrix, map, columns, rows, box_columns, box_rows);
}

extern "C" __global__ void fill_128(
    const unsigned short* matrix, unsigned* map, int columns, int rows, int box_columns, int box_rows) {
  fill<3>(matrix, map, columns, rows, box_columns, box_rows);
}
