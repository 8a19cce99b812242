"""The wheel and the sdist: whole, and at work in an environment where no clone is."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the sdist and of the wheel that is built from it."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT],
        check=True,
        capture_output=True,
    )
    return out


def only(directory: Path, pattern: str) -> Path:
    (found,) = directory.glob(pattern)
    return found


def tracked(*directories: str) -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", *directories], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return {name for name in listed.stdout.split() if (ROOT / name).exists()}


def test_both_hold_every_file(built: Path) -> None:
    wheel = set(zipfile.ZipFile(only(built, "*.whl")).namelist())
    assert tracked("custom_dispatch", "cuda_kernels") <= wheel
    for shared in tracked("cmake", "mlir"):
        assert f"custom_dispatch/share/{shared}" in wheel
    assert not {name for name in wheel if name.startswith(("tests/", "benchmarks/", "docs/"))}
    with tarfile.open(only(built, "*.tar.gz")) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert tracked() <= names | {".gitignore"}


def test_the_wheel_works_where_no_clone_is(built: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps"]
    subprocess.run([*install, only(built, "*.whl")], check=True)
    # Its dependencies are taken from here. Paths in a .pth file are searched last, and no .pth
    # file of theirs is read: not the one that leads to the clone.
    site = only(environment / "lib", "python*") / "site-packages"
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))

    def run(*words: str | Path) -> str:
        done = subprocess.run(
            words,
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "CUSTOM_DISPATCH_STORE": str(tmp_path / "store"),
            },
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    told = run(
        python,
        "-c",
        "import sys, custom_dispatch as cd, cuda_kernels\n"
        "from custom_dispatch.installation import install_step\n"
        "print(cd.__file__, cuda_kernels.__file__, *sys.path, sep='\\n')\n"
        "print(install_step('nvcc'))",
    ).splitlines()
    step = told.pop()
    assert told[0].startswith(str(site))
    assert told[1].startswith(str(site))
    assert not any(Path(path) == ROOT for path in told)
    # The package is on no index, so the next step names what its extra stands for.
    pins = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wheels = " ".join(map(repr, pins["optional-dependencies"]["nvcc"]))
    assert step == f"pip install {wheels}."
    script = environment / "bin" / "custom-dispatch"
    demo = run(script, "demo")
    assert "[96. 96. 96. 96. 96. 96. 96. 96.]" in demo
    run(script, "build", "cuda_kernels.elementwise.gelu", "-t", "cuda:sm_80", "-o", "objects")
    assert list((tmp_path / "objects").glob("*_sm_80.ptx"))
    assert (Path(run(script, "cmake-dir").strip()) / "CustomDispatch.cmake").is_file()
