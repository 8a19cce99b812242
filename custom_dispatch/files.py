"""Reading and writing files: every failure is a sentence, and no file is ever half written."""

import contextlib
import fcntl
import functools
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from custom_dispatch.errors import CustomDispatchError, OutputError

SCRATCH_SUFFIX = ".tmp"
"""How a file that is being written is named, until it takes its name."""
_ROOM_BYTES = 1 << 18
"""What has to fit into the temporary directory for a failure to be none of the disk's."""
_PREFIX, _LOCK = "custom-dispatch-", ".lock"
_SETTLED_SECONDS = 60.0
_temporary: set[str] = set()
"""The temporary directories of this process."""
_CODE = {".py", ".pyi", ".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hh", ".hpp", ".inl", ".inc"}
"""Endings of source code, which is no output of this package. Headers are found by compilers."""
_MAKE_ROOM = "make room there, or set TMPDIR to a directory that has some."


def is_file(path: Path) -> bool:
    """Whether there is a file, as far as this user can see.

    pathlib's own question is an error where a directory on the way may not be searched, or a name
    is too long.
    """
    return os.path.isfile(path)  # noqa: PTH113 - see above


def is_directory(path: Path) -> bool:
    """Whether there is a directory, as far as this user can see."""
    return os.path.isdir(path)  # noqa: PTH112 - as above


def exists(path: Path) -> bool:
    """Whether there is anything of that name, as far as this user can see."""
    return os.path.exists(path)  # noqa: PTH110 - as above


def read_bytes(path: Path, what: str, error: type[CustomDispatchError]) -> bytes:
    """Read a whole file.

    - `what`: what the file is to the reader, as a noun phrase: "The CUDA source", "The PTX".
    - `error`: the class to raise: `SourceError`, `PtxError`, ...
    """
    check_ends(path, what, error)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise error(
            f"{what} `{path}` does not exist.",
            next_step="correct the path"
            + ("." if path.is_absolute() else f" (it is looked up from {_working_directory()})."),
        ) from None
    except IsADirectoryError:
        raise error(
            f"{what} `{path}` is a directory.",
            expected="a file",
            next_step="name the file inside it.",
        ) from None
    except PermissionError:
        raise error(
            f"{what} `{path}` may not be read by this user.",
            next_step=f"give read permission (`chmod u+r {path}`), or choose another file.",
        ) from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL character in the path
        raise error(
            f"{what} `{path}` cannot be read: {_reason(problem)}.", next_step="correct the path."
        ) from problem


def check_ends(path: Path, what: str, error: type[CustomDispatchError]) -> None:
    """Refuse to read what may have no end, or may never begin: a device, a named pipe, a socket.

    What a shell hands over, /dev/stdin or /dev/fd/63, is read.
    """
    handed = str(path).startswith(("/dev/fd/", "/dev/stdin", "/proc/self/fd/"))
    if exists(path) and not (is_file(path) or is_directory(path) or handed):
        raise error(
            f"{what} `{path}` is no file, but a device, a named pipe or a socket.",
            expected="a file",
            next_step="write its content into a file, and name that.",
        )


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file, or leave what was there: never a half-written one.

    The bytes go into a temporary file of the same directory, which then takes the name in one
    step (`os.replace`), so that a reader or a second writer sees the old bytes or the new ones.
    Missing parent directories are made. A link stays, and the file that it leads to is written.
    What is no file (/dev/null, /dev/stdout, a named pipe) is written to, and never replaced.
    """
    check_output(path)
    make_directory(path.parent)
    try:
        if exists(path) and not is_file(path):
            path.write_bytes(data)
            return
        # mkstemp makes files private to this user; the result is an ordinary output file.
        replace_file(Path(os.path.realpath(path)), data, mode=0o666 & ~_umask())
    except OSError as problem:
        raise _unwritable(path, problem) from problem


def write_together(files: Mapping[Path, Callable[[BinaryIO], object]]) -> None:
    """Write several files, each whole, or leave what was there of all of them.

    All are written beside their names first, and then take them, in the order given: a process
    that ends in between leaves whole files, of which some may be the old ones.

    `files`: what writes each file's content, by its path.
    """
    written: list[tuple[Path, Path]] = []
    try:
        for path, write in files.items():
            check_output(path)
            make_directory(path.parent)
            target = Path(os.path.realpath(path))
            try:
                if target.exists() and not target.is_file():  # an error where nothing can be
                    raise OutputError(
                        f"`{path}` cannot be written: it is no file, and others belong beside it.",
                        expected="the name of a file",
                        next_step="choose another name.",
                    )
                written.append((_write_beside(target, write, 0o666 & ~_umask()), target))
            except OutputError:
                raise
            except OSError as problem:
                raise _unwritable(path, problem) from problem
        while written:
            temporary, target = written[0]
            try:
                temporary.replace(target)
            except OSError as problem:  # in a directory like /tmp, of another user
                raise _unwritable(target, problem) from problem
            del written[0]
    finally:
        for temporary, _ in written:
            with contextlib.suppress(OSError):
                temporary.unlink()


def replace_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Put a whole file in the place of a name, in one step, or leave what was there.

    Raises `OSError`: it cannot be written; nothing is left behind.
    """
    temporary = _write_beside(path, lambda file: file.write(data), mode)
    try:
        temporary.replace(path)
    except OSError:
        temporary.unlink()
        raise


def _write_beside(path: Path, write: Callable[[BinaryIO], object], mode: int) -> Path:
    """Write a file of another name in the same directory; nothing is left where that fails."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=SCRATCH_SUFFIX)
    try:
        with os.fdopen(descriptor, "wb") as file:
            write(file)
            os.fchmod(descriptor, mode)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    return Path(temporary)


def check_output(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse what is no place for an output, before work is done or other files are written.

    `inputs`: files that are read, under whatever name: also by a link.
    """
    if is_file(path):
        read = next((item for item in inputs if _is_same(path, item)), None)
        if read is not None or Path(os.path.realpath(path)).suffix.lower() in _CODE:
            known = "source code" if read is None else "what is read"
            also = "" if read in (None, path) else f": `{read}`"
            raise OutputError(
                f"`{path}` would be written over, and it is {known}{also}.",
                expected="the name of a new file, or of an output that is to be replaced",
                next_step="choose another name.",
            )
    if is_directory(path):
        raise OutputError(
            f"`{path}` cannot be written: it is a directory.",
            expected="the name of a file",
            next_step="choose another name.",
        )


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except (OSError, ValueError):  # it is not there, or no name
        return False


def make_directory(directory: Path) -> None:
    """Make a directory and its parents where they are missing."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise OutputError(
            f"`{directory}` cannot be a directory: it, or a part of its path, is a file.",
            expected="a directory, or a name that is free",
            next_step="choose another directory.",
        ) from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL character in the path
        raise OutputError(
            f"The directory `{directory}` cannot be made: {_reason(problem)}.",
            next_step="choose a directory that you may write to.",
        ) from problem


@contextlib.contextmanager
def temporary_directory() -> Iterator[Path]:
    """A directory for the files of programs that are run in the block, gone after it.

    Compilers on a full disk write half of a file and call it a success, or blame the source. So
    where the block fails, and the directory takes no file any more, that is the error.
    """
    try:
        _remove_left_over()
        made = tempfile.TemporaryDirectory(prefix=_PREFIX)
        lock = _locked(Path(made.name))
    except OSError as problem:
        raise OutputError(
            f"No temporary directory can be made: {_reason(problem)}.", next_step=_MAKE_ROOM
        ) from problem
    _temporary.add(made.name)
    try:
        with made as name:
            try:
                yield Path(name)
            except Exception:
                check_room(Path(name))
                raise
    finally:
        os.close(lock)
        _temporary.discard(made.name)


def remove_temporary_directories() -> None:
    """Remove the temporary directories of this process, which is about to end at once."""
    for name in tuple(_temporary):
        shutil.rmtree(name, ignore_errors=True)


def _locked(directory: Path, flags: int = os.O_CREAT) -> int:
    """Hold the lock of a temporary directory, which ends with the process that holds it."""
    lock = os.open(directory / _LOCK, os.O_RDWR | os.O_NOFOLLOW | flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock


@functools.cache
def _remove_left_over() -> None:
    """Remove, once a process, the temporary directories of processes that were killed."""
    for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            status = directory.lstat()
            young = time.time() - status.st_mtime < _SETTLED_SECONDS  # not locked yet, perhaps
            if status.st_uid == os.getuid() and stat.S_ISDIR(status.st_mode) and not young:
                lock = _locked(directory, 0)
                shutil.rmtree(directory, ignore_errors=True)
                os.close(lock)


def check_room(directory: Path) -> None:
    """Require of a temporary directory, for which a program has failed, that it takes files."""
    try:
        Path(directory, f"room{SCRATCH_SUFFIX}").write_bytes(bytes(_ROOM_BYTES))
    except OSError as problem:
        raise no_room(_reason(problem)) from problem


def no_room(reason: str) -> OutputError:
    """The error where the directory for temporary files takes none."""
    return OutputError(
        f"The temporary directory `{tempfile.gettempdir()}` cannot be written: {reason}.",
        next_step=_MAKE_ROOM,
    )


def _unwritable(path: Path, problem: OSError) -> OutputError:
    return OutputError(
        f"`{path}` cannot be written: {_reason(problem)}.",
        next_step="choose a directory that you may write to and that has space left.",
    )


def _working_directory() -> str:
    try:
        return f"`{Path.cwd()}`"
    except OSError:
        return "the working directory, which is gone"


def _umask() -> int:
    """The process's umask, read without changing it: setting it would race with other threads."""
    with contextlib.suppress(OSError), Path("/proc/self/status").open(encoding="ascii") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022


def _reason(problem: Exception) -> str:
    return (isinstance(problem, OSError) and problem.strerror) or str(problem)
