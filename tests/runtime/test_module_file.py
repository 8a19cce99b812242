"""Reading a `.vmfb`: of other versions, damaged, hostile; and what a module says of itself."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import struct
import sys
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.compiled import CompiledModule
from custom_dispatch.errors import ModuleFileError
from custom_dispatch.format.keys import MANIFEST_KEY
from custom_dispatch.format.manifest import VERSION, parse_manifest
from custom_dispatch.runtime import device, program
from custom_dispatch.runtime.module_file import ModuleFile

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))

from modules import SAFE, hostile_json, mend, parts_of, try_module

# `func.func @same(%a: i32) -> i32 { return %a : i32 }`, by iree-base-compiler 3.9.0 for VMVX.
IREE_3_9 = zlib.decompress(
    base64.b85decode(
        "c-o~>%}T>S5dQLGj1sU11%)CjScqUk(VGX!rHJ$r>`jD{wka(1kG44!d;xEQ9()EL#i#HoJW1nhGHFx6le5fzyR+"
        "ZUH?wTmG)xb<o#3f`bC9y_;0VKUFB!yszw@!w01Xv<YdN=!HsS4EqcK^gsi5^U`78Mwd64n;5E52sWs&Dufp_9N$"
        "m9D^`2n4=&S;W<63=Fy+Rvh43_j;F@Wr``n9`Z~!-1UU`yzjp(N!AMrOIcJ%gYM{yf14!q?_7x*_J5P_Q>agHRLp"
        "o{iq}TUfdl-(`YWoBXB>n#i%R#2~B}Y@7CmKlFaK@g2c~+cP-r7IGL|QDD`KdFfEHI&Bc9wYQv#gY~t92yHu;0#Z"
        "GCMe9O*eC+h=Qt%vj$0{^wJsp-eYUq7f?VyejMKWQZY`zx(eTGlzQJ$R+YH?hSS=&O6%3Saa!FKljE#iO;j2;c`V"
        "=yKf"
    )
)


def refusal(content: bytes) -> ModuleFileError:
    with pytest.raises(ModuleFileError) as caught:
        cd.load(content, "cpu")
    return caught.value


def test_a_module_of_an_earlier_iree_is_refused_by_version() -> None:
    error = refusal(IREE_3_9)
    assert error.found == (
        "The module was compiled by an earlier IREE, whose modules this runtime does not read."
    )
    assert error.expected.startswith("a module of the IREE that iree-base-runtime 3.13")
    assert "compile it again with iree-base-compiler of that version" in error.next_step
    assert "runtime supports 17.0, module has 15.0" in error.log


def test_a_module_of_a_later_iree_is_refused_by_version(mixed: CompiledModule) -> None:
    host, size, *_ = parts_of(mixed.bytes)[0]
    places = [
        place
        for place in range(host, host + size, 4)
        if mixed.bytes[place : place + 4] == struct.pack("<I", 17 << 16)
    ]
    content = bytearray(mixed.bytes)
    struct.pack_into("<I", content, places[0], 18 << 16)
    error = refusal(mend(content))
    assert error.found == (
        f"The module was compiled by a later IREE, {version('iree-base-compiler')}, whose modules "
        "this runtime does not read."
    )
    assert version("iree-base-runtime") in error.expected
    assert "runtime supports 17.0, module has 18.0" in error.log


@pytest.mark.parametrize(
    "text",
    [
        "NOT_FOUND; required module 'hal' version mismatch; have 6 but require 7",
        "FAILED_PRECONDITION; executable does not support this version of the runtime (00000006)",
    ],
)
def test_an_executable_of_another_iree_is_refused_by_version(text: str) -> None:
    error = program._cannot_load("the module", device.devices()[-1], RuntimeError(text))
    assert error.found == ("The module was compiled by another IREE than this runtime belongs to.")
    assert error.log == text


def manifest_text(module: CompiledModule) -> str:
    reflections = ModuleFile(module.bytes)._reflections.values()
    return next(item[MANIFEST_KEY] for item in reflections if MANIFEST_KEY in item)


def test_a_module_knows_what_it_was_made_of() -> None:
    kernel = simple_mul.with_launch(options=["-use_fast_math", "-DTILE=64"])
    manifest = cd.load(cd.compile(None, kernel, ["cuda:sm_80", "cpu"]), "cpu").manifest
    assert manifest is not None
    assert manifest.made_by["custom-dispatch"] == cd.__version__
    assert manifest.made_by["iree-base-compiler"].startswith("3.13")
    (source,) = manifest.sources
    assert source.file == "simple_mul.cu"
    assert source.kernels == ("simple_mul",)
    assert source.options == ("-use_fast_math", "-DTILE=64")
    content = Path(simple_mul.source or "").read_bytes()
    assert source.sha256 == hashlib.sha256(content).hexdigest()
    (item,) = manifest.objects
    assert item.origin.startswith("NVRTC 13.0")
    assert item.ptx == (9, 0)
    assert "--iree-cuda-target=sm_80" in manifest.flags


def test_a_module_knows_the_flags_of_its_compilation() -> None:
    flag = "--iree-opt-level=O1"
    mixed = Path(__file__).parents[2] / "mlir" / "mixed_invocation.mlir"
    for model in (None, mixed):
        module = cd.compile(model, [simple_mul, simple_mul_inplace], ["cpu"], flags=[flag])
        manifest = cd.load(module, "cpu").manifest
        assert manifest is not None
        assert manifest.flags[-1] == flag


def test_another_source_is_another_module(tmp_path: Path) -> None:
    """Although the PTX is the same: what a module says of its source is true."""
    source = Path(simple_mul.source or "")
    digests = []
    for comment in ("// one\n", "// two\n"):
        (tmp_path / "k.cu").write_text(comment + source.read_text())
        kernel = cd.Kernel(
            "simple_mul",
            source=tmp_path / "k.cu",
            operands=simple_mul.operands,
            block=simple_mul.block,
            grid=simple_mul.grid,
        )
        manifest = cd.load(cd.compile(None, kernel, ["cpu"]), "cpu").manifest
        assert manifest is not None
        digests.append(manifest.sources[0].sha256)
        content = (tmp_path / "k.cu").read_bytes()
        assert digests[-1] == hashlib.sha256(content).hexdigest()
    assert digests[0] != digests[1]


def test_what_is_written_of_a_module_is_read_again(mixed: CompiledModule) -> None:
    text = manifest_text(mixed)
    manifest = parse_manifest(text)
    assert manifest is not None
    assert json.loads(manifest.as_text()) == json.loads(text)
    assert parse_manifest(manifest.as_text()) == manifest


def test_a_manifest_of_the_first_version_is_read(mixed: CompiledModule) -> None:
    content = json.loads(manifest_text(mixed))
    del content["made_by"], content["sources"]
    manifest = parse_manifest(json.dumps(content | {"version": 1}))
    assert manifest is not None
    assert manifest.kernels == ("simple_mul", "simple_mul_inplace")
    assert manifest.sources == ()
    assert manifest.made_by == {}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"version": VERSION + 1}, "A later custom-dispatch linked it"),
        ({"version": "1"}, "What it says of the kernels that were built in is damaged."),
        ({"targets": ["tpu"]}, "What it says of the kernels that were built in is damaged."),
    ],
)
def test_a_manifest_that_cannot_be_read_is_explained(
    mixed: CompiledModule, changed: dict[str, Any], sentence: str
) -> None:
    text = json.dumps(json.loads(manifest_text(mixed)) | changed)
    assert parse_manifest(text) is None
    file = ModuleFile(mixed.bytes)
    file._reflections = {"f": {MANIFEST_KEY: text}}
    assert file.why_no_manifest.startswith(sentence)


def test_a_hostile_manifest_is_read_or_not_and_nothing_else(mixed: CompiledModule) -> None:
    text, source = manifest_text(mixed), random.Random(1)  # noqa: S311
    read = 0
    for _ in range(1000):
        manifest = parse_manifest(hostile_json(text, source))
        if manifest is None:
            continue
        read += 1
        shown = [*manifest.kernels, *manifest.made_by.values()]
        shown += [word for item in manifest.objects for word in (item.file, item.origin)]
        assert all(word.isprintable() for word in shown)
        for kernel in manifest.kernels:
            manifest.declaration(kernel)
    assert 100 < read < 900


def test_a_nest_of_lists_is_no_manifest() -> None:
    assert parse_manifest("[" * 200_000) is None
    assert parse_manifest('{"version":' * 50_000) is None


def test_hostile_modules_neither_crash_nor_hang() -> None:
    """`tests/fuzz/modules.py --count N` tries more, and says how often IREE itself crashes."""
    import modules

    makers = modules.damages(random.Random(7))  # noqa: S311
    for kind in SAFE:
        for _ in range(6):
            assert try_module(makers[kind]()) in ("ran", "refused"), kind
