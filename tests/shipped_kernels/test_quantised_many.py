"""Products of many rows with quantised weights on the CPU; weights as files have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from shipped import DTYPES, Shipped, unaligned

import cuda_kernels
import custom_dispatch as cd
from cuda_kernels import quantised
from cuda_kernels.quantised import formats, many, packing
from cuda_kernels.quantised.loading import AWQ_ORDER, GGUF_BLOCKS
from custom_dispatch.kernel.evaluation import evaluate, holds

Random = np.random.Generator
TILES = many.WarpTile(1, 2, 2, 1, 1, 2), many.WarpgroupTile(64)
# One with scales of its own in arrays, and one in blocks; a bf16 and an f16.
KERNELS = ((formats.INT4_ZEROS, "bf16"), (formats.Q4_K, "f16"))
THOROUGH = (
    (formats.Q4_0, "bf16"),
    (formats.Q4_1, "f16"),
    (formats.Q8_0, "bf16"),
    (formats.INT4, "f16"),
    (formats.FP8, "bf16"),
    (formats.INT8, "bf16"),
    (formats.INT8_GROUPS, "bf16"),
    (formats.FP8_BLOCKS, "f16"),
)
each_kernel = pytest.mark.parametrize(
    ("of", "kind"),
    [*KERNELS, *(pytest.param(*each, marks=pytest.mark.thorough) for each in THOROUGH)],
    ids=lambda item: getattr(item, "name", item),
)


@pytest.fixture(scope="module")
def products() -> Shipped:
    return Shipped(
        *(
            [many.declare_kernel(of, kind, "many", *TILES) for of, kind in some]
            for some in (KERNELS, THOROUGH)
        )
    )


def drawn(random: Random, of: formats.Format, kind: str, n: int, k: int, group: int) -> Any:
    """Weights with every bit pattern of numbers, and scales that are finite."""

    def bits(*shape: int) -> Any:
        return random.integers(0, 256, shape, dtype=np.uint8)

    def scales(*shape: int) -> Any:
        return (random.random(shape) * 0.02 + 0.01).astype(np.float32)

    if of.name.startswith("fp8"):
        shape = (n,) if of.name == "fp8" else (-(-n // 128), -(-k // 128))
        return random.standard_normal((n, k)).astype(ml_dtypes.float8_e4m3fn), scales(*shape)
    if of.name.startswith("int8"):
        numbers = random.integers(-128, 128, (n, k)).astype(np.int8)
        return numbers, scales(n) if of is formats.INT8 else scales(n, k // group)
    if of.name.startswith("int4"):
        operands = bits(n, k // 2), scales(n, k // group).astype(DTYPES[kind])
        zeros = random.integers(0, 17, (n, k // group)).astype(DTYPES[kind])
        return (*operands, zeros) if of is formats.INT4_ZEROS else operands
    weights, size = GGUF_BLOCKS[of.name]
    numbers = {"q4_0": 1, "q4_1": 2, "q8_0": 1, "q4_k": 2}[of.name]
    halves = scales(n, k // weights, numbers).astype(np.float16).view(np.uint8)
    return (np.concatenate([halves, bits(n, k // weights, size - 2 * numbers)], axis=-1),)


def product(products: Shipped, of: formats.Format, kind: str, x: Any, weights: Any) -> None:
    """Off by a rounding of the result, and by one of each weight: these differ from each other."""
    got, want = products.both(f"{of.name}_{kind}_many", x, *weights)
    rounding = 2.0**-11 if kind == "f16" else 2.0**-8
    wide = of.dequantise(*weights)
    lost = np.sqrt((x.astype(np.float64) ** 2) @ (wide**2).T)
    allowed = 2 * rounding * np.abs(want.astype(np.float64)) + 4 * rounding * lost
    assert (np.abs(got.astype(np.float64) - want.astype(np.float64)) <= allowed).all()


@each_kernel
def test_products_of_any_size(
    products: Shipped, random: Random, of: formats.Format, kind: str
) -> None:
    for n, k, batch, group in ((1, 32, 1, 32), (65, 288, 17, 96), (7, 1056, 33, 32)):
        k = -(-k // 256) * 256 if of is formats.Q4_K else k
        group = group if k % group == 0 else 32
        x = random.standard_normal((batch, k)).astype(DTYPES[kind])
        weights = drawn(random, of, kind, n, k, group)
        product(products, of, kind, x, weights)
        if n == 65:
            product(products, of, kind, unaligned(x), [unaligned(each) for each in weights])


def test_nan_stays_in_its_row(products: Shipped, random: Random) -> None:
    x = np.ones((19, 256), np.float16)
    x[3, 200] = np.nan
    (weights,) = drawn(random, formats.Q4_K, "f16", 20, 256, 32)
    weights[7, 0, :2] = np.array([np.nan], np.float16).view(np.uint8)
    got = products.both("q4_k_f16_many", x, weights)[0]
    assert np.isnan(got[3]).all()
    assert np.isnan(got[:, 7]).all()
    assert np.isfinite(np.delete(np.delete(got, 3, axis=0), 7, axis=1)).all()


@pytest.mark.parametrize(
    ("columns", "parts"), [((4, 32), (4, 2)), ((4, 256), (2, 2)), ((130, 256), (1, 2))]
)
def test_scales_that_are_not_those_of_blocks_are_refused(
    columns: tuple[int, int], parts: tuple[int, int]
) -> None:
    kernel = many.declare_kernel(formats.FP8_BLOCKS, "f16", "many", *TILES)
    dims = {"batch": 1, "n": columns[0], "k": columns[1]}
    dims |= {"row_blocks": parts[0], "column_blocks": parts[1]}
    assert not all(holds(each, dims) for each in kernel.requires)


GROUPS = """
#include "quantised_formats.cuh"
extern "C" __global__ void groups_of_stages(const int* sizes, int* groups, int count, int stages) {
  for (int i = 0; i < count; ++i) {
    for (int first = 0; first < stages; ++first) {
      cuda_kernels::RowGroups row;
      row.start(sizes[i], 1 << 20, 4 * first);
      for (int stage = first; stage < stages; ++stage) {
        row.begin_stage();
        int* const to = groups + ((i * stages + first) * stages + stage) * 8;
        for (int block = 0; block < 8; ++block) to[block] = row.first + row.from_first(block);
      }
    }
  }
}
"""


def test_stages_find_groups_of_any_size(tmp_path: Path) -> None:
    """Of the 32s of k of each stage, from whatever stage a block begins at."""
    (tmp_path / "groups.cu").write_text(GROUPS)
    count, stages = cd.dim("count"), 24
    kernel = cd.Kernel(
        "groups_of_stages",
        source=tmp_path / "groups.cu",
        operands=[
            cd.In("sizes", "i32", [count]),
            cd.Out("groups", "i32", [count, stages, stages, 8]),
            cd.Scalar("of_sizes", "i32", count),
            cd.Scalar("of_stages", "i32", stages),
        ],
        block=1,
        grid=1,
        include_dirs=[Path(cuda_kernels.__path__[0], "include")],
    )
    sizes = np.array([*range(1, 20), 24, 37, 64, 1000], np.int32)
    groups = kernel(sizes)
    want = np.arange(8 * stages).reshape(stages, 8) // sizes[:, None, None]
    for first in range(stages):
        assert (groups[:, first, first:] == want[:, first:]).all()


def test_every_result_is_written_without_k() -> None:
    """A block for each tile on every GPU, and zeros on the CPU."""
    for split in (1, 2, 3, 4):
        tile = many.WarpgroupTile(64, split)
        dims = {"batch": 65, "n": 300, "k": 0}
        assert evaluate(tile.blocks(formats.FP8), dims) == 6 * split
    kernel = many.declare_kernel(formats.FP8, "f16", "many", *TILES)
    weight = np.zeros((40, 0), ml_dtypes.float8_e4m3fn)
    found = kernel.on("cpu")(np.zeros((20, 0), np.float16), weight, np.ones(1, np.float32))
    assert found.shape == (20, 40)
    assert (found == 0).all()


SHARED_TILES = """
#include "stream_k.cuh"
extern "C" __global__ void tiles(const int* sizes, int* owners, int* parts, int tiles, int stages) {
  int* const own = parts + 8 * blockIdx.x;
  for (int i = 0; i < 8; ++i) own[i] = -1;
  for (cuda_kernels::StreamK turns(tiles, stages); turns.there(); turns.next()) {
    int* const first = owners + turns.tile() * stages + turns.begin();
    for (int i = 0; i < turns.count(); ++i) atomicAdd(first + i, blockIdx.x + 1);
    if (turns.is_whole()) continue;
    int* const part = own + 4 * turns.piece.slot();
    part[0] = turns.tile();
    part[1] = turns.work.first_worker(turns.piece);
    part[2] = turns.work.last_worker(turns.piece);
    part[3] = turns.work.first_slot(turns.piece, part[1]);
  }
}
"""


def test_stream_k_shares_tiles_equally(tmp_path: Path) -> None:
    """Every stage of every tile is one block's, all who have one agree where parts are, and where
    there are any the declaration has memory for them.
    """
    (tmp_path / "tiles.cu").write_text(SHARED_TILES)
    tiles, stages, blocks = cd.dim("tiles"), cd.dim("stages"), cd.dim("blocks")
    kernel = cd.Kernel(
        "tiles",
        source=tmp_path / "tiles.cu",
        operands=[
            cd.In("sizes", "i32", [tiles, stages, blocks]),
            cd.InOut("owners", "i32", [tiles, stages]),
            cd.Out("parts", "i32", [blocks, 2, 4]),
            cd.Scalar("tile_count", "i32", tiles),
            cd.Scalar("stage_count", "i32", stages),
        ],
        block=1,
        grid=blocks,
        include_dirs=[Path(cuda_kernels.__path__[0], "include")],
    )
    tile_of = many.WarpgroupTile(128)
    for count, of_tile, grid, shares in (
        (86, 16, 132, False),  # the last wave would be 5 stages shorter
        (86, 20, 132, True),
        (40, 54, 132, True),
        (3, 112, 132, True),
        (258, 4, 132, False),
        (340, 30, 132, True),
        (5, 1, 5, False),
    ):
        sizes = np.zeros((count, of_tile, grid), np.int32)
        owners, parts = kernel(sizes, np.zeros((count, of_tile), np.int32))
        owners = owners - 1
        assert ((owners >= 0) & (owners < grid)).all()
        assert (parts[:, :, 0] >= 0).any() == shares
        dims = {"batch": 1, "n": many.TILE_ROWS * count, "k": 4 * many.STEP * of_tile}
        assert evaluate(tile_of.blocks(formats.FP8), dims) == grid
        assert (evaluate(tile_of.scratch(formats.FP8).size_bytes, dims) > 4) == shares
        loads = np.bincount(owners.ravel(), minlength=grid)
        least = -(-of_tile // 8) if shares else of_tile * -(-count // grid)
        assert loads.max() <= max(1.2 * -(-count * of_tile // grid), least) + 1
        for tile in range(count):
            blocks_of = list(dict.fromkeys(owners[tile]))
            held = [(b, slot) for b in range(grid) for slot in (0, 1) if parts[b, slot, 0] == tile]
            if len(blocks_of) == 1:
                assert held == []
                continue
            assert [b for b, _ in held] == blocks_of
            assert len(held) <= 9
            for _, first, last, first_slot in (parts[at] for at in held):
                places = [(b, first_slot if b == first else 0) for b in range(first, last + 1)]
                assert places == held


def words(nibbles: Any, order: Any = range(8)) -> Any:
    """i32 of 8 numbers of 4 bits each, of the last axis, the first of `order` lowest."""
    groups = nibbles.reshape(*nibbles.shape[:-1], -1, 8).astype(np.uint32)
    return sum(groups[..., at] << np.uint32(4 * i) for i, at in enumerate(order)).view(np.int32)


def test_weights_of_awq_are_the_same(random: Random) -> None:
    k, n, groups = 192, 24, 3
    numbers = random.integers(0, 16, (k, n))
    zeros, scales = random.integers(0, 16, (groups, n)), random.random((groups, n))
    scales = scales.astype(np.float16)
    got = quantised.int4_of_awq(words(numbers, AWQ_ORDER), words(zeros, AWQ_ORDER), scales)
    of_k = np.arange(k) // 64
    want = (numbers - zeros[of_k]) * scales[of_k].astype(np.float64)
    assert (packing.dequantise_int4(*got) == want.T).all()


@pytest.mark.parametrize("less_one", [True, False])
@pytest.mark.parametrize("act_order", [True, False])
def test_weights_of_gptq_are_the_same(random: Random, act_order: bool, less_one: bool) -> None:
    k, n, groups = 192, 16, 3
    numbers, zeros = random.integers(0, 16, (k, n)), random.integers(0, 16, (groups, n))
    scales = random.random((groups, n)).astype(np.float16)
    g_idx = np.arange(k) // 64
    if act_order:
        random.shuffle(g_idx)
    *got, order = quantised.int4_of_gptq(
        words(numbers.T).T, words(zeros), scales, g_idx, zeros_are_less_one=less_one
    )
    want = (numbers - (zeros[g_idx] + less_one)) * scales[g_idx].astype(np.float64)
    assert (order is not None) == act_order
    if order is not None:
        want = want[order]
    assert (packing.dequantise_int4(*got) == want.T).all()


def test_a_block_of_q4_k_by_hand() -> None:
    """From `block_q4_K` and `get_scale_min_k4` of llama.cpp."""
    block = np.zeros((1, 1, 144), np.uint8)
    block[0, 0, :4] = np.array([0.5, 2.0], np.float16).view(np.uint8)
    block[0, 0, 4 + 1] = 3 | 0b10 << 6  # scale of part 1, and the upper bits of part 5's
    block[0, 0, 4 + 4 + 1] = 5 | 0b01 << 6  # the same of minima
    block[0, 0, 4 + 8 + 1] = 0x7 | 0x9 << 4  # the lower bits of part 5: scale and minimum
    block[0, 0, 16 + 4] = 0xC0  # weight 32 + 4: 12
    block[0, 0, 16 + 64 + 6] = 0xB0  # weight 160 + 6: 11
    wide = packing.dequantise_q4_k(block)
    assert wide[0, 36] == 0.5 * 3 * 12 - 2 * 5
    assert wide[0, 37] == -2 * 5
    assert wide[0, 166] == 0.5 * (0b10 << 4 | 7) * 11 - 2 * (0b01 << 4 | 9)
    assert (wide[0, :32] == 0).all()


def test_a_tensor_of_gguf_is_taken_as_it_is(random: Random) -> None:
    tensor = random.integers(0, 256, 3 * 8 * 34, dtype=np.uint8)
    blocks = quantised.gguf_blocks(tensor.tobytes(), "q8_0", 3, 256)
    assert (blocks.shape, blocks.dtype) == ((3, 8, 34), np.uint8)
    assert (blocks.reshape(-1) == tensor).all()
    assert np.shares_memory(quantised.gguf_blocks(tensor, "q8_0", 3, 256), tensor)


def test_scales_of_blocks_of_fp8(random: Random) -> None:
    weight = random.standard_normal((130, 160)).astype(ml_dtypes.float8_e4m3fn)
    scales = random.random((2, 2)).astype(np.float32)
    got = quantised.fp8_blocks(weight.view(np.uint8), scales)
    assert (got[0].dtype, got[1].dtype) == (ml_dtypes.float8_e4m3fn, np.float32)
    wide = packing.dequantise_fp8_blocks(*got)
    assert wide[129, 127] == np.float64(weight[129, 127]) * np.float64(scales[1, 0])
    assert wide[0, 128] == np.float64(weight[0, 128]) * np.float64(scales[0, 1])


def test_tensors_that_do_not_belong_together_are_refused() -> None:
    i32, f16 = np.int32, np.float16
    for call, found in (
        (lambda: quantised.gguf_blocks(b"123", "q5_k", 1, 256), "layout 'q5_k' has no product"),
        (lambda: quantised.gguf_blocks(b"123", "q4_0", 1, 32), "3 bytes are not 1 x 32 weights"),
        (
            lambda: quantised.int4_of_awq(
                np.zeros((64, 2), i32), np.zeros((2, 2), i32), np.zeros((2, 24), f16)
            ),
            "qweight, qzeros and scales of AWQ have the shapes",
        ),
        (
            lambda: quantised.int4_of_gptq(
                np.zeros((6, 8), i32), np.zeros((3, 1), i32), np.zeros((3, 8), f16)
            ),
            "48 columns in 3 groups have no product",
        ),
        (
            lambda: quantised.int4_of_gptq(
                np.zeros((8, 8), i32), np.zeros((2, 1), i32), np.zeros((2, 8), f16), np.zeros(64)
            ),
            "groups of g_idx do not have as many columns",
        ),
        (
            lambda: quantised.fp8_blocks(np.zeros((4, 4), np.uint8), np.zeros((2, 1))),
            r"Scales \[2, 1\] are not those of weights \[4, 4\]",
        ),
    ):
        with pytest.raises(cd.CustomDispatchError, match=found) as caught:
            call()
        assert caught.value.expected
        assert caught.value.next_step
