"""What a compilation follows from: what it read, and at least the places where NVRTC looks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cuda_sources import Write, skip_without_gcc
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from custom_dispatch.kernel.target import Arch
from custom_dispatch.store import Closure
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import CompileRequest
from custom_dispatch.toolchain.includes import SearchPath, closure_of
from custom_dispatch.toolchain.nvcc import read_dependencies


def find(text: str, directory: Path, *read: Path | str) -> Closure | None:
    path = SearchPath((str(directory / "include"), str(directory / "later")))
    return closure_of(text.encode(), directory / "k.cu", tuple(map(str, read)), path)


@pytest.mark.parametrize(
    "text",
    [
        '#include "a.h"',
        "#include <a.h>",
        '  #  include"a.h"  // why',
        '#/**/include/* a\n b */"a.h"',
        '#inc\\\nlude \\\r\n "a.h"',
        '%:include "a.h"',
        '??=include "a.h"',
        '#import "a.h"',
        '#include_next "a.h"',
        '#if 0\n#include "a.h"\n#endif',
        '/* text */ #include "a.h"',
        "#if __has_include(<a.h>)",
        '#if __has_include ( "a.h" )',
        '#if A /* of\n two */ && __has_include_next(/**/ "a.h")',
        "#ifdef __has_include\n#if defined(__has_include) && __has_include(<a.h>)",
        "#define HAS(x) __has_include(x)\n#if HAS(<a.h>)",
        "#define HAS(x) A && (__has_include ( x ))\n#if HAS(<a.h>)",
        "#define HAS(x) __has_include(<a.h>) && __has_include(x)",
    ],
)
def test_a_name_counts_in_every_place(tmp_path: Path, write: Write, text: str) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "later").mkdir()
    names = {str(tmp_path / "include/a.h"), str(tmp_path / "later/a.h")}
    beside = {str(tmp_path / "a.h")} if '"a.h"' in text else set()
    found = find(text, tmp_path)
    assert found == Closure((), tuple(sorted(names | beside)))
    header = str(write("include/a.h", ""))  # here it is asked for, and not read
    assert find(text, tmp_path) == found
    nested = str(write("elsewhere/nested.h", text))
    below = {str(tmp_path / "elsewhere/a.h")} if beside else set()
    read = find(f'#include "{nested}"', tmp_path, nested, header)
    assert read == Closure(
        tuple(sorted((nested, header))), tuple(sorted((names | below) - {header}))
    )


@pytest.mark.parametrize(
    "text",
    [
        '#define HEADER "a.h"\n#include HEADER',
        "#define NAME a\n#define HEADER <NAME.h>\n#include HEADER",
        "#include STRING(a.h)",
        "/* remark\n*/ #include HEADER",
    ],
)
def test_a_name_that_macros_make_counts_where_it_is_read(
    tmp_path: Path, write: Write, text: str
) -> None:
    header = str(write("later/sub/a.h", ""))
    found = find(text, tmp_path, header)
    assert found is not None
    assert found.read == (header,)
    first = ("a.h", "sub", "include/a.h", "include/sub", "later/a.h")
    assert {str(tmp_path / name) for name in first} <= {*found.looked_for}


@pytest.mark.parametrize(
    "text",
    [
        "#if __has_include(HEADER)",
        "#if __has_include(STRING(a.h))",
        "#define HAS(x) __has_include(x)\n#if HAS(HEADER)",
        "#define HAS(a, x) __has_include(x)\n#if HAS(1, <a.h>)",
        "const char *when = __DATE__;",
        "const char *when = __TI\\\nME__;",
        "__TIMESTAMP__",
        "#embed <data>",
        "a\0b",
    ],
)
def test_what_cannot_be_told_has_no_answer(tmp_path: Path, text: str) -> None:
    assert find(text, tmp_path) is None
    odd = tmp_path / "odd.h"
    odd.write_bytes(text.encode())
    assert find("", tmp_path) is not None
    assert find("", tmp_path, odd) is None


def test_of_a_path_the_part_that_is_absent_counts(tmp_path: Path, write: Write) -> None:
    header = str(write("later/a/b.h", ""))
    write("include/other.h", "")
    found = find('#include "a/b.h"\n#include <c/d/e.h>\n#include "../f.h"', tmp_path, header)
    assert found is not None
    assert found.read == (header,)
    asked = ("a", "../f.h", "include/a", "include/c", "include/../f.h", "later/c", "later/../f.h")
    assert set(found.looked_for) == {f"{tmp_path}/{name}" for name in asked}


def test_a_header_that_is_gone_meanwhile_has_no_answer(tmp_path: Path, write: Write) -> None:
    header = write("a.h", "")
    assert find('#include "a.h"', tmp_path, header) is not None
    assert find('#include "a.h"', tmp_path, header, tmp_path / "gone.h") is None
    os.mkfifo(tmp_path / "pipe.h")
    assert find('#include "pipe.h"', tmp_path, tmp_path / "pipe.h") is None


def test_no_text_makes_the_search_slow(tmp_path: Path) -> None:
    parts = ("/*", "# /**/", "#include", "*/ ", "define a(", "define a()", "__has_include(")
    for part in parts:
        find(part * 50_000, tmp_path)


PIECES = [
    *(b"#include", b"#include_next", b"__has_include", b"#define", b"#import", b"%:", b"??="),
    *(b"<a.h>", b'"a.h"', b"(", b")", b"/*", b"*/", b"//", b"\\\n", b"\n", b" ", b"X", b"X(y)"),
    *(b"<", b">", b'"', b"..", b"/", b"\xff", b"\0"),
]


@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=40).map(b"".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_has_an_answer_or_none(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a.h").write_bytes(text)
    search = SearchPath((str(tmp_path),))
    closure_of(text, tmp_path / "k.cu", (), search)
    closure_of(b"#include <a.h>\n", tmp_path / "k.cu", (str(tmp_path / "a.h"),), search)
    read_dependencies(text)


SPY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static void tell(const char *path) {
  static int to = -1;
  if (to < 0) to = syscall(SYS_openat, AT_FDCWD, getenv("OPENED"), O_WRONLY | O_APPEND);
  dprintf(to, "%s\n", path);
}
#define OPEN(NAME) \
  int NAME(const char *path, int flags, ...) { \
    va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
    tell(path); \
    return ((int (*)(const char *, int, int))dlsym(RTLD_NEXT, #NAME))(path, flags, mode); \
  }
#define FOPEN(NAME) \
  FILE *NAME(const char *path, const char *mode) { \
    tell(path); \
    return ((FILE *(*)(const char *, const char *))dlsym(RTLD_NEXT, #NAME))(path, mode); \
  }
OPEN(open) OPEN(open64) FOPEN(fopen) FOPEN(fopen64)
"""


@pytest.fixture(scope="module")
def spy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that writes into the file $OPENED which files a program opens."""
    skip_without_gcc()
    directory = tmp_path_factory.mktemp("spy")
    (directory / "spy.c").write_text(SPY)
    library = directory / "spy.so"
    command = ["gcc", "-shared", "-fPIC", "-w", "-o", library, directory / "spy.c", "-ldl"]
    subprocess.run(command, check=True)
    return library


COMPILE = """
import sys
from pathlib import Path
from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain.compiler import CompileRequest
from custom_dispatch.toolchain.choose_compiler import find_compiler
compiler = find_compiler("nvrtc")
compiler.begin()
compiler.version  # the library is loaded
with open(sys.argv[3], "a") as opened:
    print("from here", file=opened)
made = compiler.compile(CompileRequest(Path(sys.argv[1]), Arch(90), (), (Path(sys.argv[2]),)))
print("\\n".join(made.headers))
"""


@pytest.mark.parametrize(
    "text",
    [
        "",
        '#include "near.h"\n#include <far.h>\n#include <no>\n#if __has_include(<too.h>)\n#endif',
        "#include <cuda_fp16.h>",
        *(
            pytest.param(text, marks=pytest.mark.thorough)  # hundreds of files each
            for text in (
                "#include <cooperative_groups.h>\n#include <cuda/std/tuple>",
                "#include <cub/block/block_reduce.cuh>",
            )
        ),
    ],
)
def test_every_file_that_nvrtc_opens_is_known(
    write: Write, spy: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    include = write("include/far.h", '#include "beside.h"\n#include <cstdint>').parent
    write("include/beside.h", "")
    write("include/no", "")
    source = write("k.cu", text)
    write("near.h", "#include <utility>\n")
    listing = write("opened", "")
    directory = write("elsewhere/empty", "").parent
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, source, include, listing],
        env=os.environ
        | {"LD_PRELOAD": str(spy), "OPENED": str(listing), "CUSTOM_DISPATCH_STORE": "off"},
        cwd=directory,
        check=True,
        capture_output=True,
        text=True,
    )
    read = done.stdout.splitlines()
    _, _, opened = listing.read_text().partition("from here\n")
    monkeypatch.chdir(directory)
    compiler = find_compiler("nvrtc")
    request = CompileRequest(source, Arch(90), (), (include,))
    closure = closure_of(text.encode(), source, read, compiler.search_path(request))
    assert closure is not None
    assert closure.read == tuple(read)
    names = set(opened.splitlines()) - {str(source)}
    missed = [name for name in names if not _known(name, closure)]
    assert missed == []
    assert len(names) > 4  # the spy saw something


def _known(name: str, closure: Closure) -> bool:
    """Whether a file counts: by itself, or because a part of its path is not there."""
    path = Path(name)
    if name in closure.read or any(
        str(each) in closure.looked_for for each in (path, *path.parents)
    ):
        return True
    # NVRTC asks for a name of the working directory also by its whole path.
    return path.parent == Path.cwd() and path.name in closure.looked_for


def test_the_rule_of_dependencies_is_read() -> None:
    lines = [rb"/x/o\ ut.ptx : /x/a\ b.cu", rb"  /usr/inc\#l/x$$y.h", rb"  /back\slash.h"]
    rule = b" \\\n".join(lines) + b"\n"
    assert read_dependencies(rule) == ("/x/a b.cu", "/usr/inc#l/x$y.h", r"/back\slash.h")
