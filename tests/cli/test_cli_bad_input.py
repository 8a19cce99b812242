"""Bad input is answered with sentences and status 2, and leaves nothing behind."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_harness import CommandLine

BUILD = ("-t", "cuda:sm_90", "--out", "o")
KERNEL = """\
import custom_dispatch as cd
kernel = cd.Kernel(
    "{name}", source="{source}", operands=[cd.Out("out", "{dtype}", [4])], block=1, grid=1
)
"""


@pytest.fixture
def declare(work: Path) -> Callable[..., str]:
    """Write my.py, which declares one kernel, and return its name."""

    def write(name: str = "kernel", source: str = "my.cu", dtype: str = "f32") -> str:
        (work / "my.py").write_text(KERNEL.format(name=name, source=source, dtype=dtype))
        return "my.py"

    return write


# -- files that are not there


def test_kernels_file_missing(cli: CommandLine) -> None:
    cli("build", "my/kernels.py", *BUILD).refused("`my/kernels.py` does not exist", "next step")


def test_kernels_file_is_a_directory(cli: CommandLine) -> None:
    cli("build", "../", *BUILD).refused("is a directory", "NAME.py")


@pytest.mark.parametrize("name", ["no_such_module", "cuda_kernels.no_such_kernel", ".", "a b", ""])
def test_kernels_module_missing(name: str, cli: CommandLine) -> None:
    cli("build", name, *BUILD).refused(f"There is no Python module `{name}`", "my/kernels.py")


def test_a_cuda_source_is_no_module(cli: CommandLine, work: Path) -> None:
    (work / "scale.cu").write_text("")
    for name in ("scale.cu", str(work / "scale.cu")):
        cli("build", name, *BUILD).refused(
            f"The kernels' file `{name}` is not a Python file.\n"
            "  expected: a Python file, NAME.py, that declares kernels\n"
            "  next step: declare them in a Python file beside it, and give that: see README.md."
        )
    cli("build", "other.cu", *BUILD).refused("The kernels' file `other.cu` does not exist.")


def test_source_missing(cli: CommandLine, declare: Callable[..., str]) -> None:
    cli("build", declare(), *BUILD).refused("my.cu` does not exist", "correct the path")


@pytest.mark.parametrize(
    "words",
    [
        ("compile", "no.mlir", "-k", "simple_mul.py", "-t", "cpu", "-o", "o.vmfb"),
        ("emit", "simple_mul.py", "-t", "cpu", "--into", "no.mlir", "-o", "o.mlir"),
        ("run", "no.vmfb"),
        ("inspect", "no.ptx"),
    ],
)
def test_input_file_missing(words: tuple[str, ...], cli: CommandLine) -> None:
    cli(*words).refused("`no.", "does not exist", "correct the path (it is looked up from `")


def test_objects_directory_missing(cli: CommandLine) -> None:
    words = ("emit", "simple_mul.py", "-t", "cuda:sm_90", "--objects", "no", "-o", "o/k.mlir")
    cli(*words).refused("`no`", "next step")


def test_include_directory_missing(cli: CommandLine) -> None:
    cli("build", "simple_mul.py", *BUILD, "-I", "no").refused("no", "next step")


# -- declarations


def test_syntax_error_in_the_kernels_file(cli: CommandLine, work: Path) -> None:
    (work / "my.py").write_text("x = 1\nkernel = (\n")
    cli("build", "my.py", *BUILD).refused("SyntaxError", "my.py, line 2", "correct the file")


def test_exception_in_the_kernels_file(cli: CommandLine, work: Path) -> None:
    (work / "my.py").write_text("def fail():\n    return 1 / 0\n\nfail()\n")
    cli("build", "my.py", *BUILD).refused("ZeroDivisionError", "my.py, line 2")


def test_kernels_file_that_exits(cli: CommandLine, work: Path) -> None:
    (work / "my.py").write_text("raise SystemExit(0)\n")
    cli("build", "my.py", *BUILD).refused("SystemExit", "my.py, line 1")


def test_kernels_file_that_misses_a_module(cli: CommandLine, work: Path) -> None:
    (work / "my.py").write_text("import no_such_module\n")
    cli("build", "my.py", *BUILD).refused(
        "No module named 'no_such_module'",
        "my.py, line 1",
        "next step: install the package that holds `no_such_module`, or correct the file",
    )


def test_patterns_of_a_framework_that_is_not_installed(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)  # Python then says that there is none
    monkeypatch.delitem(sys.modules, "cuda_kernels.patterns.stablehlo", raising=False)
    words = (
        "compile",
        "model.mlir",
        "-r",
        "cuda_kernels.patterns.stablehlo",
        "-t",
        "cpu",
        "-o",
        "o.vmfb",
    )
    cli(*words).refused(
        "patterns/stablehlo.py, line", "install it (pip install -e '.[jax]'), or correct"
    )


def test_kernels_file_without_kernels(cli: CommandLine, work: Path) -> None:
    (work / "my.py").write_text("x = 1\n")
    cli("build", "my.py", *BUILD).refused(
        "`my.py` declares no kernel", "module-level cd.Kernel objects, or lists of them"
    )


def test_malformed_declaration(cli: CommandLine, declare: Callable[..., str]) -> None:
    outcome = cli("build", declare(dtype="float"), *BUILD)
    outcome.refused("my.py, line 3: ", "'float' is not an element type", 'write "f32"')


@pytest.mark.parametrize("name", ["a b", "a;b", "a\\nb", "$(touch pwned)", "../a", "é", "@a"])
def test_kernel_names_are_identifiers(
    name: str, cli: CommandLine, declare: Callable[..., str]
) -> None:
    cli("build", declare(name=name), *BUILD).refused("my.py, line 2", "next step")


def test_unknown_kernel_name(cli: CommandLine, declare: Callable[..., str], work: Path) -> None:
    (work / "my.cu").write_text('extern "C" __global__ void another(float* out) { *out = 1; }\n')
    outcome = cli("build", declare(), *BUILD)
    outcome.refused("has no entry `kernel`", "one of the entries it has: another")


def test_model_that_calls_an_unknown_kernel(cli: CommandLine, work: Path) -> None:
    text = (work / "model.mlir").read_text()
    (work / "model.mlir").write_text(text.replace("@simple_mul_inplace", "@no_such_kernel"))
    words = ("compile", "model.mlir", "-k", "simple_mul.py", "-t", "cpu", "-o", "o.vmfb")
    cli(*words).refused("`no_such_kernel`", "no kernel has that name")


def test_model_that_is_no_mlir(cli: CommandLine, work: Path) -> None:
    (work / "model.mlir").write_text("this is no MLIR {")
    words = ("compile", "model.mlir", "-k", "simple_mul.py", "-t", "cpu", "-o", "o.vmfb")
    cli(*words).refused("`model.mlir` is not valid MLIR", "custom op 'this' is unknown")


# -- targets and options


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("cuda:sm_9", "'sm_9' is not a CUDA architecture"),
        ("cuda:sm_90x", "sm_90"),
        ("rocm:gfx942", "rocm"),
        ("cuda", "next step"),
        (",", "No target is given"),
        ("cpu:no-such-cpu; touch pwned", "next step"),
    ],
)
def test_unknown_target(target: str, part: str, cli: CommandLine) -> None:
    cli("build", "simple_mul.py", "-t", target, "--out", "o").refused(part)


@pytest.mark.parametrize(
    "words",
    [
        ("build", "simple_mul.py", "--out", "o"),
        ("emit", "simple_mul.py", "-o", "o.mlir"),
        ("compile", "model.mlir", "-k", "simple_mul.py", "-o", "o.vmfb"),
        ("check", "simple_mul.py"),
        ("which", "choice.py", "--shape", "n=8"),
        ("tune", "choice.py", "--build-only", "o"),
    ],
)
def test_every_command_refuses_a_cpu_that_does_not_exist(
    words: tuple[str, ...], cli: CommandLine, work: Path
) -> None:
    (work / "choice.py").write_text(
        "import custom_dispatch as cd\nfrom cuda_kernels.simple_mul import simple_mul\n"
        'first = cd.Choice("first", [simple_mul])\n'
    )
    cli(*words, "-t", "cpu:foo").refused("CPU 'foo' is unknown.", "next step: `cpu` is for every")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("build", "simple_mul.py", "-t", "cpu"), "Missing option '--out'"),
        (("build",), "Missing argument"),
        (("build", "simple_mul.py", *BUILD, "--compiler", "gcc"), "'gcc' is not one of"),
        (("no-such-command",), "No such command"),
        (("run", "m.vmfb", "--no-such-option"), "No such option"),
    ],
)
def test_usage(words: tuple[str, ...], part: str, cli: CommandLine) -> None:
    cli(*words).refused(part, "Usage: custom-dispatch")


def test_a_device_that_does_not_exist(cli: CommandLine) -> None:
    said = "'tpu' is not a device.\n  expected: auto or cuda or cuda:N (GPUs count from 0) or cpu\n"
    cli("run", "m.vmfb", "--device", "tpu").refused(said, "next step: choose one of these")


# -- the compiler's message


@pytest.mark.parametrize("compiler", ["nvrtc", "nvcc"])
@pytest.mark.parametrize("command", ["build", "check"])
def test_source_that_does_not_compile(
    compiler: str, command: str, cli: CommandLine, declare: Callable[..., str], work: Path
) -> None:
    import shutil

    if compiler == "nvcc" and shutil.which("gcc") is None:
        pytest.skip("nvcc needs gcc to preprocess, and there is none")
    source = '// one line\nextern "C" __global__ void kernel(float* out) { *out = missing; }\n'
    (work / "my.cu").write_text(source)
    out = ("--out", "o") if command == "build" else ()
    words = (command, declare(), "-t", "cuda:sm_90", *out, "--compiler", compiler)
    outcome = cli(*words)
    outcome.refused("`my.cu` does not compile for sm_90", 'identifier "missing" is undefined')
    assert f"{work / 'my.cu'}(2): error" in outcome.err
    # The compiler's message and nothing of ours after it.
    assert outcome.err.rstrip().endswith(f'compilation of "{work / "my.cu"}".')


# -- calling


@pytest.mark.parametrize(
    ("inputs", "parts"),
    [
        (("8xf64=2", "8xf32=4"), ("Argument 0", "dtype float64", "float32")),
        (("8xi32=2", "8xf32=4"), ("Argument 0", "dtype int32", "float32")),
        (("2x4xf32=2", "8xf32=4"), ("Argument 0", "rank 2", "rank 1")),
        (("8xf32=2", "7xf32=4"), ("`lhs`", "`rhs`", "disagree on dim n")),
        (("8xf32=2",), ("called with 1 arguments", "2: ")),
        (("3", "8xf32=4"), ("Argument 0", "numpy array")),
        (("8xf32=2", "@no.npy"), ("`@no.npy` cannot be read", "numpy.save")),
        (("8xf99=2", "8xf32=4"), ("'8xf99=2' is not an input", "f32")),
    ],
)
def test_wrong_arguments(
    inputs: tuple[str, ...], parts: tuple[str, ...], cli: CommandLine, vmfb: Path
) -> None:
    words = [word for text in inputs for word in ("-i", text)]
    cli("run", vmfb, "--device", "cpu", *words).refused(*parts, "next step")


def test_unknown_function(cli: CommandLine, vmfb: Path) -> None:
    cli("run", vmfb, "-f", "no").refused(
        "has no function `no`.\n  expected: one of mixed_invocation\n  next step: correct the name."
    )


def test_cuda_without_a_driver(cli: CommandLine, vmfb: Path) -> None:
    from custom_dispatch.runtime.device_choice import why_not

    if why_not("cuda") is None:
        pytest.skip("there is a GPU, so CUDA is not refused")
    outcome = cli("run", vmfb, "--device=cuda", "-i", "8xf32", "-i", "8xf32")
    outcome.refused(str(why_not("cuda")))


# -- damaged files


@pytest.mark.parametrize("command", ["run", "inspect"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other"])
def test_corrupt_module(command: str, damage: str, cli: CommandLine, vmfb: Path) -> None:
    content = vmfb.read_bytes()
    with zipfile.ZipFile(vmfb) as archive:
        code = max(archive.infolist(), key=lambda member: member.file_size)
    middle = code.header_offset + code.file_size // 2  # between the parts nothing is checked
    damaged = {
        "cut": content[:middle],
        "flipped": content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :],
        "empty": b"",
        "other": b"this is no module\n" * 100,
    }[damage]
    vmfb.write_bytes(damaged)
    cli(command, vmfb).refused("`mixed.vmfb`", "next step")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x01\x02",
        b".version 9.0\n.target sm_90\n.address_size 64\n.entry {",
        b"\x7fELF\x02",
    ],
)
def test_corrupt_object(content: bytes, cli: CommandLine, work: Path) -> None:
    (work / "k.ptx").write_bytes(content)
    cli("inspect", "k.ptx").refused("next step")


# -- places that cannot be written (permissions would not stop root, so a file is in the way)


@pytest.mark.parametrize(
    "words",
    [
        ("build", "simple_mul.py", "-t", "cuda:sm_80,cuda:sm_90", "--out", "model.mlir/o"),
        ("build", "simple_mul.py", "-t", "cuda:sm_80,cuda:sm_90", "--out", "model.mlir"),
        ("emit", "simple_mul.py", "-t", "cuda:sm_90", "-o", "model.mlir/o.mlir"),
        ("emit", "simple_mul.py", "-t", "cuda:sm_90", "-o", "."),
        ("compile", "model.mlir", "-k", "simple_mul.py", "-t", "cpu", "-o", "model.mlir/o.vmfb"),
        ("compile", "model.mlir", "-k", "simple_mul.py", "-t", "cpu", "-o", "."),
        ("demo", "-o", "model.mlir/o.vmfb"),
    ],
)
def test_output_that_cannot_be_written(words: tuple[str, ...], cli: CommandLine) -> None:
    cli(*words).refused("next step: choose another")


@pytest.mark.parametrize(
    ("option", "range_"), [("--seconds", "0.001<=x<=3600"), ("--timeout", "0.1<=x<=86400")]
)
def test_times_that_are_no_numbers(option: str, range_: str, cli: CommandLine) -> None:
    for command in ("bench", "tune"):
        cli(command, "my.py", option, "nan").refused(f"nan is not in the range {range_}.")


def test_a_directory_without_a_name(cli: CommandLine) -> None:
    cli("build", "simple_mul.py", "-t", "cuda:sm_90", "--out", "").refused("the name is empty")


def test_flags_that_give_no_module(cli: CommandLine) -> None:
    words = ("compile", "model.mlir", "-k", "simple_mul.py", "-t", "cpu", "-o", "o.vmfb")
    cli(*words, "--iree-flag=--compile-to=input").refused(
        "iree-compile wrote something else than a module", "such as --compile-to"
    )


@pytest.mark.parametrize("kind", ["pipe", "endless"])
@pytest.mark.parametrize(
    "words",
    [
        ("inspect", "odd.vmfb"),
        ("run", "odd.vmfb"),
        ("bench", "odd.vmfb"),
        ("run", "mixed.vmfb", "-f", "mixed_invocation", "-i", "@odd.npy"),
        ("compile", "odd.mlir", "-k", "simple_mul.py", "-t", "cpu", "-o", "o.vmfb"),
        ("compile", "odd.onnx", "-k", "simple_mul.py", "-t", "cpu", "-o", "o.vmfb"),
        ("build", "odd.py", *BUILD),
        ("build", "of_odd.py", *BUILD),
        ("build", "of_odd_object.py", *BUILD),
        ("build", "of_odd_table.py", *BUILD),
    ],
    ids=" ".join,
)
def test_what_never_begins_or_never_ends(
    words: tuple[str, ...], kind: str, work: Path, vmfb: Path, cli: CommandLine
) -> None:
    for suffix in ("vmfb", "npy", "mlir", "onnx", "py", "cu", "ptx", "json"):
        odd = work / f"odd.{suffix}"
        os.mkfifo(odd) if kind == "pipe" else odd.symlink_to("/dev/zero")
    text = (work / "simple_mul.py").read_text()
    (work / "of_odd.py").write_text(text.replace("simple_mul.cu", "odd.cu"))
    named = 'objects={"cuda:sm_90": "odd.ptx"}'
    (work / "of_odd_object.py").write_text(text.replace('source="simple_mul.cu"', named))
    (work / "of_odd_table.py").write_text(
        "import custom_dispatch as cd\nfrom simple_mul import simple_mul\n"
        'one = cd.Choice("one", [simple_mul], tuning="odd.json")\n'
    )
    found = "is not a Python file" if "odd.py" in words else "is no file, but a device"
    cli(*words).refused(found)
