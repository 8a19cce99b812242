"""Compiling and checking through the store: what was done before with the same inputs is found.

Two results are kept: the PTX of a source, and an object that was checked against its declarations.
Each by everything that it follows from, so that a kernel with another block takes the same PTX, and
nothing checked for one declaration passes for another.

Headers are known only after looking. So first the source with its options leads to the list of
files that it read (as ccache's direct mode has it), and these files as they are now lead to the
result.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

from custom_dispatch.errors import CustomDispatchError
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Arch
from custom_dispatch.store import (
    Closure,
    Snapshot,
    Store,
    file_identity,
    key_of,
    package_identity,
    remember,
)
from custom_dispatch.toolchain.compiler import CompiledPtx, Compiler, CompileRequest, read_source
from custom_dispatch.toolchain.includes import SearchPath, before_headers, find_includes
from custom_dispatch.toolchain.library import Form, Object, SourceFiles
from custom_dispatch.toolchain.locations import find_tool

# Lists of files that one source may have: with each list its headers led to other headers.
_MAX_CLOSURES = 8
# How often, at most, it is asked whether a whole tree is as it was; what waits for it is kept then.
_TREE_CHECK_SECONDS = 0.5
# Times of files are those of a clock that ticks up to 100 times a second.
_TICK_NS = 20_000_000

_ANY_ARCH = Arch(80)


@dataclass(frozen=True, slots=True)
class _Closures:
    """The lists of files that compiling a source read, the latest first."""

    latest: tuple[Closure, ...]


@dataclass(frozen=True, slots=True)
class _Pending:
    """A result that is kept as soon as its trees are known to be unchanged."""

    base: bytes
    source: bytes
    known: _Closures
    closure: Closure
    compiled: CompiledPtx


class NotKeptError(Exception):
    """Something is not in the store, where only that was wanted."""


class StoredBuild:
    """One build's use of the store; without a store it compiles and checks, and keeps nothing."""

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._may_make = True
        self._lock = threading.Lock()
        # Threads that read PTX share the interpreter's lock. Turn by turn, not all at once, they
        # fall out of step: then one reads while NVRTC or ptxas works for another.
        self._reading = threading.Lock()
        self._pending: list[_Pending] = []
        self.read: set[SourceFiles] = set()
        """Of each compilation whose result was kept or is kept now."""
        self._conditions = cache(_conditions)
        self._declared = cache(_declared)
        self._checked_at = time.monotonic()
        self._begun: set[Compiler] = set()
        if store is not None:
            self._snapshot = Snapshot(store)

    def compile(self, compiler: Compiler, request: CompileRequest) -> CompiledPtx:
        """As `Compiler.compile`."""
        store = self._store
        if store is None:
            return self._compile(compiler, request)
        source = read_source(request.source)
        try:
            asked = replace(request, source=Path(), arch=_ANY_ARCH, entries=(), fields=())
            search, identity = self._conditions(compiler, asked)
        except OSError:
            return self._compile(compiler, request)
        base = key_of("source", package_identity(), identity, request, source, search)
        with store.once(base):
            known = store.load(_Closures, base) or _Closures(())
            for closure in known.latest:
                state = self._snapshot.state_of(closure)
                kept = state and store.load(CompiledPtx, key_of("ptx", base, state))
                if state and kept:
                    self.read.add(SourceFiles(sha256(source).digest(), closure, state))
                    store.count(hit=True)
                    return kept
            self._not_kept()
            store.count(hit=False)
            compiled, whole = self._compile_and_look(compiler, request, source, search)
            if whole is not None:
                self._keep(_Pending(base, source, known, whole, compiled))
            return compiled

    def _compile(self, compiler: Compiler, request: CompileRequest) -> CompiledPtx:
        self._not_kept()
        self._begin(compiler)
        return compiler.compile(request)

    def _begin(self, compiler: Compiler) -> None:
        """Let a compiler get ready in this thread, until all is compiled."""
        self._begun.add(compiler)
        compiler.begin()

    def _compile_and_look(
        self, compiler: Compiler, request: CompileRequest, source: bytes, search: SearchPath
    ) -> tuple[CompiledPtx, Closure | None]:
        """Compile; and find what was read, where that is known and did not change meanwhile."""
        self._begin(compiler)
        found = find_includes(source, request.source, search, self._snapshot)
        if found is not None:
            self._snapshot.look_at(found)  # as it is before the compiler looks
        started_ns = time.time_ns()
        compiled = compiler.compile(request)
        if found is None or not self._is_as_before(found, request.source, source):
            return compiled, None
        return compiled, _with_headers(found, compiled.headers, search, started_ns)

    def validate(
        self,
        item: Object,
        kernels: Sequence[Kernel],
        label: str,
        *,
        for_cpu: bool = False,
        form: Form,
    ) -> Object:
        """As `validate.validate`."""

        def check() -> Object:
            self._not_kept()
            from custom_dispatch.toolchain.validate import validate

            return validate(item, kernels, label, for_cpu=for_cpu, form=form, reading=self._reading)

        def key() -> bytes:
            return key_of("object", self._declared(tuple(kernels)), item, label, for_cpu, form)

        return remember(self._store, Object, key, check)

    @contextmanager
    def only_kept(self) -> Iterator[None]:
        """Raise `NotKeptError` instead of compiling or checking anything. Not for several threads.

        What is kept is found sooner by one thread than by several, which would take turns.
        """
        self._may_make = False
        try:
            yield
        finally:
            self._may_make = True

    def _not_kept(self) -> None:
        if not self._may_make:
            raise NotKeptError

    def join(self, items: Sequence[Object]) -> Object:
        """As `ptxas.join`."""
        from custom_dispatch.toolchain.ptxas import join

        def key() -> bytes:
            tool = find_tool("fatbinary").found
            return key_of("fatbin", package_identity(), tool and file_identity(tool), tuple(items))

        return remember(self._store, Object, key, lambda: join(items))

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Around what is to be compiled: what compilers begin in each thread ends with it."""
        try:
            yield
        finally:
            for compiler in self._begun:
                compiler.end()
            self._begun.clear()
            self._keep_waiting()

    def _keep_waiting(self) -> None:
        """Keep what waits for its trees to be looked at again."""
        with self._lock:
            waiting, self._pending = self._pending, []
            self._checked_at = time.monotonic()
        unchanged: dict[str, bool] = {}
        for item in waiting:
            for root in item.closure.trees:
                if root not in unchanged:
                    unchanged[root] = self._snapshot.is_as_before(Closure((), (), (root,)))
            if all(unchanged[root] for root in item.closure.trees):
                self._publish(item)

    def _is_as_before(self, closure: Closure, path: Path, source: bytes) -> bool:
        """Whether the files are still those of the snapshot: one may have been edited meanwhile."""
        files = Closure(closure.read, closure.absent)
        with contextlib.suppress(CustomDispatchError):
            return self._snapshot.is_as_before(files) and read_source(path) == source
        return False

    def _keep(self, item: _Pending) -> None:
        if not item.closure.trees:
            self._publish(item)
            return
        with self._lock:
            self._pending.append(item)
            due = time.monotonic() > self._checked_at + _TREE_CHECK_SECONDS
        if due:
            self._keep_waiting()

    def _publish(self, item: _Pending) -> None:
        state = self._snapshot.state_of(item.closure)
        if self._store is None or state is None:
            return
        self.read.add(SourceFiles(sha256(item.source).digest(), item.closure, state))
        self._store.save(key_of("ptx", item.base, state), item.compiled)
        if item.closure not in item.known.latest:
            latest = (item.closure, *item.known.latest)[:_MAX_CLOSURES]
            self._store.save(item.base, _Closures(latest))


def _conditions(compiler: Compiler, asked: CompileRequest) -> tuple[SearchPath, bytes]:
    """Where headers are looked for, and what the compiler is: the same for many sources."""
    return compiler.search_path(asked), compiler.identity(asked)


def _declared(kernels: tuple[Kernel, ...]) -> bytes:
    """What checking an object against these kernels follows from, besides the object."""
    ptxas = find_tool("ptxas").found
    identity = package_identity(), ptxas and file_identity(ptxas)
    return key_of("declared", *identity, kernels)


def _with_headers(
    closure: Closure, headers: Sequence[str], search: SearchPath, started_ns: int
) -> Closure | None:
    """Add the headers that a compiler says it read; None where one may have changed since."""
    new = sorted(set(headers).difference(closure.read))
    for path in new:
        try:
            changed_ns = os.stat(path).st_ctime_ns  # noqa: PTH116 - hundreds of them
        except OSError:
            return None
        if changed_ns > started_ns - _TICK_NS:
            return None
    absent = before_headers(new, search) if search.before_host else ()
    if absent is None:
        return None
    return Closure(closure.read + tuple(new), closure.absent + absent, closure.trees)
