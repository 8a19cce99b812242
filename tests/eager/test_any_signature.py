"""Random C signatures: every byte of every parameter must arrive in the kernel."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import custom_dispatch as cd
from custom_dispatch.kernel.abi import MAX_BINDINGS, MAX_CONSTANTS, flattened, words_of

C_TYPES = {
    "bool": "bool",
    "i8": "signed char",
    "u8": "unsigned char",
    "i16": "short",
    "u16": "unsigned short",
    "i32": "int",
    "u32": "unsigned int",
    "i64": "long long",
    "u64": "unsigned long long",
    "f16": "__half",
    "bf16": "__nv_bfloat16",
    "f32": "float",
    "f64": "double",
}
NUMPY = {"bool": "?", "f16": "<f2", "f32": "<f4", "f64": "<f8"}
ROOM = 256
"""Bytes of the output for each parameter."""

values = st.integers(0, 2**64 - 1)
fields = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([*C_TYPES]), st.sampled_from([None, None, None, 1, 3])),
        st.just(("in", None)),
    ),
    min_size=1,
    max_size=5,
)
parameters = st.one_of(
    st.just("in"),
    st.just("out"),
    st.sampled_from([*C_TYPES]),
    st.sampled_from([*C_TYPES]),
    fields,
    fields,
)


def to_numpy(dtype: str) -> np.dtype[Any]:
    if dtype == "bf16":
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(NUMPY.get(dtype) or f"<{dtype[0]}{int(dtype[1:]) // 8}")


def number(dtype: str, rng: np.random.Generator) -> Any:
    """A number of random bits that is not NaN."""
    kind = to_numpy(dtype)
    if dtype == "bool":
        return bool(rng.integers(2))
    while True:
        value = np.frombuffer(rng.bytes(kind.itemsize), kind)[0]
        if not np.isnan(value):
            return float(value) if dtype[0] in "fb" else int(value)


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(
    chosen=st.lists(parameters, min_size=1, max_size=9),
    seed=st.integers(0, 2**32 - 1),
    by_address=st.booleans(),
    out_first=st.booleans(),
)
def test_every_byte_arrives(
    chosen: list[Any], seed: int, by_address: bool, out_first: bool
) -> None:
    rng = np.random.default_rng(seed)
    operands: list[Any] = []
    written: list[str] = []
    structs: list[str] = []
    body: list[str] = []
    arguments: dict[str, Any] = {}
    expected: list[tuple[int, bytes]] = []
    for index, kind in enumerate(chosen):
        name, place = f"p{index}", index * ROOM
        if kind == "in":
            operands.append(cd.In(name, "i32", [4]))
            written.append(f"const int* {name}")
            arguments[name] = rng.integers(0, 2**31, 4).astype(np.int32)
            body.append(f"for (int k = 0; k < 4; ++k) ((int*)(bytes + {place}))[k] = {name}[k];")
            expected.append((place, arguments[name].tobytes()))
        elif kind == "out":
            operands.append(cd.Out(name, "i32", [4]))
            written.append(f"int* {name}")
            body.append(f"for (int k = 0; k < 4; ++k) {name}[k] = {index} + k;")
            body.append(f"bytes[{place}] = 0;")  # an output that nothing writes is refused
        elif isinstance(kind, str):
            operands.append(cd.Scalar(name, kind))
            written.append(f"{C_TYPES[kind]} {name}")
            arguments[name] = number(kind, rng)
            body.append(f"*({C_TYPES[kind]}*)(bytes + {place}) = {name};")
            expected.append((place, np.array(arguments[name], to_numpy(kind)).tobytes()))
        else:
            declared: dict[str, Any] = {
                f"f{i}": dtype if count is None else (dtype, count)
                for i, (dtype, count) in enumerate(kind)
            }
            is_split = ("in", None) in kind
            for at, (dtype, _) in enumerate(kind):
                if dtype != "in":
                    continue
                pointed = place + ROOM // 2 + 16 * at
                given = f"{name}_f{at}"
                declared[f"f{at}"] = cd.In(given, "i32", [4])
                arguments[given] = rng.integers(0, 2**31, 4).astype(np.int32)
                body.append(
                    f"for (int k = 0; k < 4; ++k) ((int*)(bytes + {pointed}))[k] = {name}.f{at}[k];"
                )
                expected.append((pointed, arguments[given].tobytes()))
            struct = cd.Struct(name, **declared)
            operands.append(struct)
            members = " ".join(
                f"{C_TYPES.get(dtype, 'const int*')} f{i}{'' if count is None else f'[{count}]'};"
                for i, (dtype, count) in enumerate(kind)
            )
            structs.append(f"struct S{index} {{ {members} }};")
            constant = "const __grid_constant__ " if by_address else ""
            written.append(f"{constant}S{index} {name}")
            if by_address:
                body.append(
                    f"{{ const unsigned char* from = (const unsigned char*)&{name}; for (int k = "
                    f"0; k < sizeof(S{index}); k += step) bytes[{place} + k] = from[k]; }}"
                )
            else:
                body.append(f"*(S{index}*)(bytes + {place}) = {name};")
            numbers: dict[str, Any] = {}
            for field, (dtype, count) in zip(struct.fields, kind, strict=True):
                if dtype == "in":
                    continue
                several = [number(dtype, rng) for _ in range(count or 1)]
                if is_split:
                    ends = [""] if count is None else [f"_{i}" for i in range(count)]
                    numbers |= zip((f"{name}_{field.name}{e}" for e in ends), several, strict=True)
                else:
                    numbers[field.name] = several[0] if count is None else several
                content = np.array(several, to_numpy(dtype)).tobytes()
                expected.append((place + field.offset, content))
            arguments |= numbers if is_split else {name: numbers}
    passed = flattened(operands)
    assume(sum(map(words_of, passed)) < MAX_CONSTANTS - 1)  # `step`, and the CPU's grid
    assume(sum(isinstance(item, cd.In | cd.Out) for item in passed) < MAX_BINDINGS)
    result = cd.Out("bytes", "u8", [ROOM * len(chosen)])
    at = 0 if out_first else len(operands)
    operands.insert(at, result)
    written.insert(at, "unsigned char* bytes")
    source = (
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
        + "\n".join(structs)
        + f'\nextern "C" __global__ void copy_all({", ".join(written)}, int step) {{\n  '
        + "\n  ".join(body)
        + "\n}\n"
    )
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "copy_all.cu"
        path.write_text(source)
        kernel = cd.Kernel(
            "copy_all",
            source=path,
            operands=[*operands, cd.Scalar("step", "i32")],
            block=1,
            grid=1,
        )
        found = kernel.on("cpu")(**arguments, step=1)
    results = found if isinstance(found, tuple) else (found,)
    for operand, array in zip(kernel.outputs, results, strict=True):
        if operand is not result:
            index = int(operand.name[1:])
            assert list(array) == [index, index + 1, index + 2, index + 3]
            continue
        for place, content in expected:
            assert array[place : place + len(content)].tobytes() == content, (source, place)
