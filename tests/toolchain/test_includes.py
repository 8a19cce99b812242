"""Which files a compilation may read: at least those that NVRTC opens."""

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
from custom_dispatch.store import Closure, Snapshot, Store
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import CompileRequest
from custom_dispatch.toolchain.includes import SearchPath, before_headers, find_includes
from custom_dispatch.toolchain.nvcc import read_dependencies


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"), 1 << 30)


def find(text: str, directory: Path, store: Store, **search: object) -> Closure | None:
    path = SearchPath((str(directory / "include"),), **search)  # type: ignore[arg-type]
    return find_includes(text.encode(), directory / "k.cu", path, Snapshot(store))


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
        '#define HEADER "a.h"\n#include HEADER',
        "#define NAME a\n#define HEADER <NAME.h>\n#include HEADER",
        '#ifdef B\n#define HEADER "b.h"\n#else\n#define HEADER "a.h"\n#endif\n#include HEADER',
        "#if __has_include(<a.h>)",
        '#if __has_include ( "a.h" )',
        "#define HAS(x) __has_include(x)\n#if HAS(<a.h>)",
        '#define HEADER "a.h"\n#if __has_include(HEADER)',
    ],
)
def test_every_way_to_include_is_followed(write: Write, store: Store, text: str) -> None:
    header = write("include/a.h", '#include "sub/c.h"')
    nested = write("include/sub/c.h", "")
    found = find(text, header.parents[1], store)
    assert found is not None
    assert {str(header), str(nested)} <= set(found.read)


@pytest.mark.parametrize(
    "text",
    [
        "#include HEADER",
        "#include STRING(a.h)",
        "/* remark\n*/ #include HEADER",
        "#if __has_include(HEADER)",
        "const char *when = __DATE__;",
        "const char *when = __TI\\\nME__;",
        "__TIMESTAMP__",
        "#embed <data>",
        "a\0b",
        "".join(f"#define H <{n}>\n" for n in range(100)) + "#include H",
    ],
)
def test_what_cannot_be_told_has_no_answer(tmp_path: Path, store: Store, text: str) -> None:
    assert find(text, tmp_path, store) is None
    assert find(f"#include <{tmp_path}/odd.h>", tmp_path, store) is not None
    (tmp_path / "odd.h").write_bytes(text.encode())
    assert find(f"#include <{tmp_path}/odd.h>", tmp_path, store) is None


def test_a_macro_of_the_options_names_a_header(write: Write, store: Store) -> None:
    header = write("include/a.h", "")
    found = find("#include HEADER", header.parents[1], store, macros=(("HEADER", "<a.h>"),))
    assert found is not None
    assert found.read == (str(header),)


def test_places_passed_over_are_absent(write: Write, store: Store) -> None:
    header = write("include/a/b.h", "")
    found = find('#include "a/b.h"\n#include <c/d/e.h>\n', header.parents[2], store)
    assert found is not None
    base = header.parents[2]
    assert found.read == (str(header),)
    assert set(found.absent) == {str(base / "a"), str(base / "include" / "c")}


def test_a_header_that_is_gone_meanwhile_has_no_answer(tmp_path: Path, write: Write) -> None:
    header = str(write("a.h", '#include "b.h"\n'))
    search = SearchPath((), before_host=(str(tmp_path / "before"),))
    assert before_headers([header], search) == (str(tmp_path / "before" / "b.h"),)
    assert before_headers([header, str(tmp_path / "gone.h")], search) is None


def test_headers_that_include_each_other_end(write: Write, store: Store) -> None:
    write("include/a.h", '#include "b.h"\n#include_next "a.h"\n#include "a.h"')
    header = write("include/b.h", '#include "a.h"\n#include_next <b.h>')
    found = find('#include "a.h"', header.parents[1], store)
    assert found is not None
    assert len(found.read) == 2


def test_a_header_that_names_itself_through_its_directory_is_read_once(
    write: Write, store: Store
) -> None:
    header = write("include/a.h", '// To be included: #include "../include/a.h".')
    (header.parents[1] / "link").symlink_to("include")
    found = find('#include "../include/../x/../include/a.h"', header.parents[1] / "x", store)
    assert found is not None
    assert found.read == ()  # there is no directory x
    found = find('#include "include/a.h"', header.parents[1], store)
    assert found is not None
    assert found.read == (str(header),)
    found = find('#include "link/../include/a.h"', header.parents[1], store)
    assert found is not None  # a link may lead elsewhere later
    assert found.read == (f"{header.parents[1]}/link/../include/a.h",)


def test_a_tree_is_one_input_with_the_places_before_it(write: Write, store: Store) -> None:
    tree = write("tree/one.h", "#include <own.h>\n#include <two.h>").parent
    write("tree/two.h", "")
    mine = write("include/two.h", "").parent
    search = SearchPath((str(mine), str(tree)), trees=(str(tree),))
    snapshot = Snapshot(store)
    found = find_includes(b"#include <one.h>", mine / "k.cu", search, snapshot)
    assert found is not None
    assert found.trees == (str(tree),)
    assert found.read == (str(mine / "two.h"),)
    assert str(mine / "own.h") in found.absent
    before = snapshot.state_of(found)
    write("tree/two.h", "changed")
    assert Snapshot(store).state_of(found) != before


def test_no_text_makes_the_search_slow(tmp_path: Path, store: Store) -> None:
    for text in ("/*" * 50_000, "# /**/" * 50_000, "#include" * 50_000, "*/ " * 50_000):
        find(text, tmp_path, store)


PIECES = [
    *(b"#include", b"#include_next", b"__has_include", b"#define", b"#import", b"%:", b"??="),
    *(b"<a.h>", b'"a.h"', b"(", b")", b"/*", b"*/", b"//", b"\\\n", b"\n", b" ", b"X", b"X(y)"),
    *(b"<", b">", b'"', b"..", b"/", b"\xff", b"\0"),
]


@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=40).map(b"".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_has_an_answer_or_none(tmp_path: Path, store: Store, text: bytes) -> None:
    (tmp_path / "a.h").write_bytes(text)
    search = SearchPath((str(tmp_path),), macros=(("X", "<a.h>"),))
    for source in (text, b"#include <a.h>\n"):
        found = find_includes(source, tmp_path / "k.cu", search, Snapshot(store))
        assert found is None or all(Path(path).is_file() for path in found.read)
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
compiler.compile(CompileRequest(Path(sys.argv[1]), Arch(90), (), (Path(sys.argv[2]),)))
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
    write: Write, store: Store, spy: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    include = write("include/far.h", '#include "beside.h"\n#include <cstdint>').parent
    write("include/beside.h", "")
    write("include/no", "")
    source = write("k.cu", text)
    write("near.h", "#include <utility>\n")
    listing = write("opened", "")
    directory = write("elsewhere/empty", "").parent
    subprocess.run(
        [sys.executable, "-c", COMPILE, source, include, listing],
        env=os.environ
        | {"LD_PRELOAD": str(spy), "OPENED": str(listing), "CUSTOM_DISPATCH_STORE": "off"},
        cwd=directory,
        check=True,
    )
    _, _, opened = listing.read_text().partition("from here\n")
    monkeypatch.chdir(directory)
    compiler = find_compiler("nvrtc")
    request = CompileRequest(source, Arch(90), (), (include,))
    closure = find_includes(text.encode(), source, compiler.search_path(request), Snapshot(store))
    assert closure is not None
    names = set(opened.splitlines()) - {str(source)}
    missed = [name for name in names if not _known(name, closure)]
    assert missed == []
    assert len(names) > 4  # the spy saw something


def _known(name: str, closure: Closure) -> bool:
    """Whether a file counts: by itself, in a tree, or because a part of its path is not there."""
    path = Path(name)
    if name in closure.read or name in closure.absent:
        return True
    if any(str(parent) in (*closure.trees, *closure.absent) for parent in path.parents):
        return True
    # NVRTC asks for a name of the working directory also by its whole path.
    return path.parent == Path.cwd() and path.name in closure.absent


def test_the_rule_of_dependencies_is_read() -> None:
    lines = [rb"/x/o\ ut.ptx : /x/a\ b.cu", rb"  /usr/inc\#l/x$$y.h", rb"  /back\slash.h"]
    rule = b" \\\n".join(lines) + b"\n"
    assert read_dependencies(rule) == ("/x/a b.cu", "/usr/inc#l/x$y.h", r"/back\slash.h")
