"""Where the store is, and whether it may be trusted."""

import contextlib
import os
import stat
from pathlib import Path

from custom_dispatch.dataclass import dataclass

DIRECTORY_VARIABLE = "CUSTOM_DISPATCH_STORE"
"""A directory for the store, or one of `OFF`."""
LIMIT_VARIABLE = "CUSTOM_DISPATCH_STORE_LIMIT"
"""How many bytes the store may have, as a number with or without K, M or G behind it."""
OFF = frozenset({"off", "0", "no", "false"})
DEFAULT_LIMIT = 1 << 30
"""1 GiB: some ten thousand objects."""

_MOST_DIGITS = 18
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class Location:
    """Where the store is to be; or why there is none."""

    path: Path | None
    limit: int
    problem: str = ""
    """Why there is none, as a sentence; empty where nobody wants one."""


def locate() -> Location:
    """The store's directory: what the environment says, else the user's cache directory.

    The latter is that of the XDG Base Directory Specification: `$XDG_CACHE_HOME`, if that is an
    absolute path, else `~/.cache`.
    """
    limit, problem = _limit()
    named = os.environ.get(DIRECTORY_VARIABLE, "")
    if named.lower() in OFF:
        return Location(None, limit)
    if named:
        try:
            return Location(Path(named).absolute(), limit, problem)
        except OSError:
            return Location(None, limit, "the working directory is gone")
    cache = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(cache) if cache.startswith("/") else Path.home() / ".cache"
    except RuntimeError:
        return Location(None, limit, "there is no home directory")
    return Location(base / "custom-dispatch", limit, problem)


def _limit() -> tuple[int, str]:
    text = os.environ.get(LIMIT_VARIABLE, "").strip()
    if not text:
        return DEFAULT_LIMIT, ""
    last = text[-1].upper()
    number, unit = (text[:-1], last) if last in _UNITS else (text, "")
    if number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS:
        return int(number) * _UNITS[unit], ""
    return DEFAULT_LIMIT, f"{LIMIT_VARIABLE} is {text!r}, which is no number of bytes such as 500M"


def make_private(path: Path) -> str:
    """Make the directory if it is missing, for this user alone.

    Returns: why it cannot be used, as a clause; empty when it can.
    """
    try:
        with contextlib.suppress(FileExistsError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=0o700)
        real = path.resolve(strict=True)
        status = real.stat()
    except (OSError, ValueError, RuntimeError) as problem:
        return f"it cannot be made: {getattr(problem, 'strerror', None) or problem}"
    if not stat.S_ISDIR(status.st_mode):
        return "it is a file"
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    if not is_private(status):
        return f"other users may write it; `chmod go-w {real}` makes it yours alone"
    for parent in real.parents:
        mode = parent.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"everybody may write `{parent}`, and so put another directory in its place"
    return ""


def is_private(status: os.stat_result) -> bool:
    """Whether a file is this user's, and nobody else may write it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
