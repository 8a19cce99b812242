"""Kernels of TileLang."""

from tilelang import language as T  # noqa: N812 - as all of its users write

m, n, k = (T.dynamic(name) for name in "mnk")


@T.prim_func
def saxpy(
    y: T.Tensor((n,), "float32"),
    x: T.Tensor((n,), "float32"),
    out: T.Tensor((n,), "float32"),
    a: T.float32,
):
    with T.Kernel(T.ceildiv(n, 256), threads=256) as block:
        for i in T.Parallel(256):
            out[block * 256 + i] = a * x[block * 256 + i] + y[block * 256 + i]


@T.prim_func
def row_sum(x: T.Tensor((m, n), "float32"), out: T.Tensor((m,), "float32")):
    with T.Kernel(m, threads=128) as row:
        part = T.alloc_fragment((128,), "float32")
        total = T.alloc_fragment((1,), "float32")
        T.clear(part)
        for j in T.serial(T.ceildiv(n, 128)):
            for i in T.Parallel(128):
                if j * 128 + i < n:
                    part[i] += x[row, j * 128 + i]
        T.reduce_sum(part, total, dim=0)
        out[row] = total[0]


@T.prim_func
def product(
    a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float16")
):
    with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (column, row):
        left = T.alloc_shared((64, 32), "float16")
        right = T.alloc_shared((32, 64), "float16")
        total = T.alloc_fragment((64, 64), "float32")
        T.clear(total)
        for step in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
            T.copy(a[row * 64, step * 32], left)
            T.copy(b[step * 32, column * 64], right)
            T.gemm(left, right, total)
        T.copy(total, c[row * 64, column * 64])


w = T.dynamic("w", "int64")


@T.prim_func
def spread(x: T.Tensor((m, w), "float32"), out: T.Tensor((m, w * 2), "float32")):
    with T.Kernel(m, threads=32) as row:
        for step in T.serial(T.ceildiv(w, 32)):
            for i in T.Parallel(32):
                if step * 32 + i < w:
                    out[row, (step * 32 + i) * 2] = x[row, step * 32 + i]
                    out[row, (step * 32 + i) * 2 + 1] = -x[row, step * 32 + i]


@T.prim_func
def doubled(x: T.Tensor((n,), "float32"), out: T.Tensor((n,), "float32")):
    with T.Kernel(T.min(n, 3), threads=64) as block:
        for step in T.serial(T.ceildiv(n, 192)):
            for i in T.Parallel(64):
                if (step * 3 + block) * 64 + i < n:
                    out[(step * 3 + block) * 64 + i] = x[(step * 3 + block) * 64 + i] * 2
