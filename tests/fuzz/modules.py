"""Load damaged modules: refused or run, and where IREE itself crashes, how often.

    python tests/fuzz/modules.py [--count N] [--seed N] [--kind KIND ...]

Each module is loaded and called in a process of its own, which is forked for it. Kinds of damage:

- bits: some bits flipped anywhere; the archive's checksums show it;
- truncated: cut off, or parts left out;
- mended: bits flipped in a part, with its checksums corrected: no accident, but an attack;
- bare: bits flipped in a module that is a flatbuffer alone, which has no checksums;
- manifest: what the module says of itself replaced by hostile JSON, with checksums corrected.

The last two lines say how it went. "bits", "truncated" and "manifest" must never crash.
"""

from __future__ import annotations

import argparse
import collections
import io
import json
import os
import random
import signal
import struct
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

LIMIT_S = 20.0
SAFE = ("bits", "truncated", "manifest")
"""Kinds that are found before IREE sees them."""


def parts_of(content: bytes) -> list[tuple[int, int, int, int]]:
    """Each part of a `.vmfb`: where its data begins, its size, and where its two CRCs stand."""
    found = []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        central = archive.start_dir
        for info in archive.infolist():
            local = info.header_offset
            data = local + 30 + sum(struct.unpack_from("<HH", content, local + 26))
            found.append((data, info.file_size, local + 14, central + 16))
            central += 46 + sum(struct.unpack_from("<HHH", content, central + 28))
    return found


def mend(content: bytearray) -> bytes:
    """Correct the checksums of every part."""
    for data, size, *places in parts_of(bytes(content)):
        checksum = zlib.crc32(content[data : data + size])
        for place in places:
            struct.pack_into("<I", content, place, checksum)
    return bytes(content)


def flip(content: bytes, low: int, high: int, source: random.Random) -> bytearray:
    """Flip one to three bits between two offsets."""
    damaged = bytearray(content)
    for _ in range(source.choice((1, 1, 3))):
        damaged[source.randrange(low, high)] ^= 1 << source.randrange(8)
    return damaged


def with_manifest(content: bytes, old: bytes, new: str) -> bytes:
    """Replace a module's manifest by another of at most its length."""
    text = new.encode()[: len(old)]
    damaged = bytearray(content)
    place = content.index(old)
    damaged[place : place + len(old)] = text.ljust(len(old))
    return mend(damaged)


def hostile_json(manifest: str, source: random.Random) -> str:
    """A manifest with something odd in it."""
    odd: list[object] = [
        None, True, -1, 10**400, 1e308, "", "\x1b[2J", "\u202e", "a" * 999, [], {}, [[]], "sm_80",
        "-" * 900 + "1", "(" * 400, "9" * 900,
    ]  # fmt: skip
    shape = source.randrange(5)
    if shape == 0:
        return source.choice(("[", '{"version":')) * (len(manifest) // 11)
    if shape == 1:
        return "9" * len(manifest)
    if shape == 2:
        place = source.randrange(len(manifest))
        return manifest[:place] + chr(source.randrange(32, 127)) + manifest[place + 1 :]
    content = json.loads(manifest)
    places: list[tuple[object, object]] = []

    def walk(value: object) -> None:
        items = value.items() if isinstance(value, dict) else enumerate(value)  # type: ignore[arg-type]
        for key, item in items:
            places.append((value, key))
            if isinstance(item, dict | list):
                walk(item)

    walk(content)
    for _ in range(source.choice((1, 3))):
        holder, key = source.choice(places)
        holder[key] = source.choice(odd)  # type: ignore[index]
    return json.dumps(content, separators=(",", ":"))


def try_module(content: bytes) -> str:
    """Load and call a module in a process of its own; say how that ended."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os._exit(_load_and_call(content))
    latest = time.monotonic() + LIMIT_S
    while time.monotonic() < latest:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            if code < 0:
                return f"crashed ({signal.Signals(-code).name})"
            return ("ran", "refused", "another result", "another error")[code]
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hung"


def _load_and_call(content: bytes) -> int:
    import numpy as np

    import custom_dispatch as cd
    from custom_dispatch.runtime.module_file import ModuleFile

    two, four = np.full(8, 2, np.float32), np.full(8, 4, np.float32)
    try:
        manifest = ModuleFile(content).manifest
        if manifest is not None:
            for kernel in manifest.kernels:
                manifest.declaration(kernel)
        program = cd.load(content, "cpu")
        result = program.function("mixed_invocation")(two, four)
        return 0 if np.array_equal(result, np.full(8, 96, np.float32)) else 2
    except cd.CustomDispatchError as error:
        return 1 if str(error).isprintable() or "\n" in str(error) else 3
    except Exception as error:  # noqa: BLE001 - which is what this is to find
        print(f"{type(error).__name__}: {error}", flush=True)
        return 3


def damages(source: random.Random) -> dict[str, Callable[[], bytes]]:
    """How a module is damaged in each way."""
    import custom_dispatch as cd
    from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace

    kernels = [simple_mul, simple_mul_inplace]
    model = ROOT / "mlir" / "mixed_invocation.mlir"
    content = cd.compile(model, kernels, ["cuda:sm_80", "cpu"]).bytes
    flags = ["--iree-vm-emit-polyglot-zip=false"]
    bare = cd.compile(model, kernels, ["cpu"], flags=flags).bytes
    start = content.index(b'{"version":')
    length = struct.unpack_from("<I", content, start - 4)[0]
    manifest = content[start : start + length]

    def mended() -> bytes:
        data, size, *_ = source.choice([part for part in parts_of(content) if part[1]])
        return mend(flip(content, data, data + size, source))

    def truncated() -> bytes:
        low, high = sorted(source.randrange(len(content)) for _ in range(2))
        return content[:low] if source.random() < 0.5 else content[:low] + content[high:]

    return {
        "bits": lambda: bytes(flip(content, 0, len(content), source)),
        "truncated": truncated,
        "mended": mended,
        "bare": lambda: bytes(flip(bare, 0, len(bare), source)),
        "manifest": lambda: with_manifest(
            content, manifest, hostile_json(manifest.decode(), source)
        ),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="modules of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", nargs="*", help="which kinds of damage; all without it")
    parser.add_argument("--keep", type=Path, help="where modules that crash are written")
    options = parser.parse_args()
    source = random.Random(options.seed)  # noqa: S311
    makers = damages(source)
    bad = 0
    for kind in options.kind or makers:
        outcomes: collections.Counter[str] = collections.Counter()
        for index in range(options.count):
            damaged = makers[kind]()
            outcome = try_module(damaged)
            outcomes[outcome] += 1
            unwanted = outcome not in ("ran", "refused")
            bad += unwanted and kind in SAFE
            if unwanted and options.keep is not None:
                (options.keep / f"{kind}_{index}.vmfb").write_bytes(damaged)
        print(f"{kind}: {', '.join(f'{count} {name}' for name, count in outcomes.most_common())}")
    print("FAILED" if bad else "ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
