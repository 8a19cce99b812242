"""Compiling and checking through the store: what was done before with the same inputs is found.

Two results are kept: the PTX of a source, and an object that was checked against its declarations.
Each by everything that it follows from, so that a kernel with another block takes the same PTX, and
nothing checked for one declaration passes for another.

Headers are known only after looking. So first the source with its options leads to the list of
files that it read (as ccache's direct mode has it), and these files as they are now lead to the
result. It is kept where no file has changed since compiling began, by its time of change.
"""

import contextlib
import threading
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
from custom_dispatch.store.closure import is_older, next_tick_ns
from custom_dispatch.toolchain.compiler import CompiledPtx, Compiler, CompileRequest, read_source
from custom_dispatch.toolchain.includes import SearchPath, closure_of
from custom_dispatch.toolchain.library import Form, Object, SourceFiles
from custom_dispatch.toolchain.locations import find_tool

# Lists of files that one source may have: with each list its headers led to other headers.
_MAX_CLOSURES = 8

_ANY_ARCH = Arch(80)


@dataclass(frozen=True, slots=True)
class _Closures:
    """The lists of files that compiling a source read, the latest first."""

    latest: tuple[Closure, ...]


class NotKeptError(Exception):
    """Something is not in the store, where only that was wanted."""


class StoredBuild:
    """One build's use of the store; without a store it compiles and checks, and keeps nothing."""

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._snapshot = Snapshot()
        self._since_ns = 0
        """When what is compiled was begun."""
        self._may_make = True
        # Threads that read PTX share the interpreter's lock. Turn by turn, not all at once, they
        # fall out of step: then one reads while NVRTC or ptxas works for another.
        self._reading = threading.Lock()
        self.read: set[SourceFiles] = set()
        """Of each compilation whose result was kept or is kept now."""
        self._conditions = cache(_conditions)
        self._declared = cache(_declared)
        self._begun: set[Compiler] = set()

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
                kept = store.load(CompiledPtx, self._key(base, closure))
                if kept:
                    self._note(source, closure)
                    store.count(hit=True)
                    return kept
            self._not_kept()
            store.count(hit=False)
            compiled = self._compile(compiler, request)
            if compiled.headers is None:
                return compiled
            found = closure_of(source, request.source, compiled.headers, search)
            if found is None:
                return compiled
            key = self._key(base, found)  # of the files before it is asked whether they changed
            if self._is_as_before(found, request.source, source):
                self._note(source, found)
                store.save(key, compiled)
                if found not in known.latest:
                    store.save(base, _Closures((found, *known.latest)[:_MAX_CLOSURES]))
            return compiled

    def _key(self, base: bytes, closure: Closure) -> bytes:
        """The key of what a source is compiled to, with the files that are there now."""
        return key_of("ptx", base, self._snapshot.state_of(closure))

    def _note(self, source: bytes, closure: Closure) -> None:
        state = self._snapshot.state_of(closure)
        self.read.add(SourceFiles(sha256(source).digest(), closure, state))

    def _compile(self, compiler: Compiler, request: CompileRequest) -> CompiledPtx:
        self._not_kept()
        self._begun.add(compiler)
        compiler.begin()
        return compiler.compile(request)

    def _is_as_before(self, closure: Closure, path: Path, source: bytes) -> bool:
        """Whether nothing was edited since this build began to compile."""
        with contextlib.suppress(CustomDispatchError):
            return is_older(closure, self._since_ns) and read_source(path) == source
        return False

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
        if self._store is not None:
            self._since_ns = next_tick_ns()
            self._snapshot = Snapshot()
        try:
            yield
        finally:
            for compiler in self._begun:
                compiler.end()
            self._begun.clear()


def _conditions(compiler: Compiler, asked: CompileRequest) -> tuple[SearchPath, bytes]:
    """Where headers are looked for, and what the compiler is: the same for many sources."""
    return compiler.search_path(asked), compiler.identity(asked)


def _declared(kernels: tuple[Kernel, ...]) -> bytes:
    """What checking an object against these kernels follows from, besides the object."""
    ptxas = find_tool("ptxas").found
    identity = package_identity(), ptxas and file_identity(ptxas)
    return key_of("declared", *identity, kernels)
