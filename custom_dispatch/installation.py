"""Where this package is installed: the files that ship with it, and commands for what is missing.

The package is on no index, so no command names it as if it were.
"""

from __future__ import annotations

import importlib.util
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from custom_dispatch.errors import ToolNotFoundError

if TYPE_CHECKING:
    from importlib import metadata

_NAME = "custom-dispatch"
_OPTIONAL = re.compile(r"(?P<what>[^;]*?)\s*; *extra == ['\"](?P<extra>[\w-]+)['\"]")
_OWN_EXTRA = re.compile(_NAME + r"\[([\w-]+)\]")


def install_command(extra: str) -> str:
    """The command that installs an extra, or brings its parts back to releases that go together.

    In a clone pip resolves the extra again. Where the package came from a wheel or an archive, the
    command names what the extra stands for.

    `extra`: one of pyproject.toml's: "cuda", "nvcc", "torch", "jax", "onnx", "profile".
    """
    from importlib import metadata  # slow to load, and wanted by errors alone

    try:
        own = metadata.distribution(_NAME)
    except metadata.PackageNotFoundError:  # a clone on the path
        return f"pip install -e '.[{extra}]'"
    if _is_editable(own):
        return f"pip install -e '.[{extra}]'"
    return f"pip install {' '.join(map(repr, _parts(own.requires or [], extra)))}"


def install_step(extra: str) -> str:
    """The same as a next step."""
    command = install_command(extra)
    return f"{command} (in the clone)." if " -e " in command else f"{command}."


def require_framework(package: str, title: str) -> None:
    """Require what a front end is for: `cd.torch` PyTorch, whose package is torch.

    Raises `ToolNotFoundError`: it is not there.
    """
    if importlib.util.find_spec(package) is None:
        raise ToolNotFoundError(
            f"{title} is not installed in this Python environment.",
            expected=f"the package {package}, which `cd.{package}` is for",
            next_step=install_step(package),
        )


def require(
    package: str, title: str, used_by: str, releases: tuple[str, str] | None = None, extra: str = ""
) -> str:
    """The installed version of a package that need not be there.

    - `package`: its distribution: "numba-cuda"; `extra` is named so, or else as given.
    - `title, used_by`: what it is called, and the name that needs it, for the error: "Triton".
    - `releases`: the first that was tried, and the first that was not.

    Raises `ToolNotFoundError`: it is not there, or none of those releases.
    """
    from importlib import metadata

    found = None
    with suppress(metadata.PackageNotFoundError):
        found = metadata.version(package)
        if releases is None or _release(releases[0]) <= _release(found) < _release(releases[1]):
            return found
    tried = f", of a release from {releases[0]} to before {releases[1]}" if releases else ""
    raise ToolNotFoundError(
        f"{title} is not installed in this Python environment."
        if found is None
        else f"{title} {found} is installed.",
        expected=f"the package {package}, which `{used_by}` is for{tried}",
        next_step=install_step(extra or package),
    )


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _is_editable(own: metadata.Distribution) -> bool:
    origin = json.loads(own.read_text("direct_url.json") or "{}")
    return bool(origin.get("dir_info", {}).get("editable"))


def _parts(requirements: list[str], extra: str) -> list[str]:
    found: list[str] = []
    for requirement in requirements:
        match = _OPTIONAL.fullmatch(requirement)
        if match is None or match["extra"] != extra:
            continue
        ours = _OWN_EXTRA.fullmatch(match["what"])
        found += [match["what"]] if ours is None else _parts(requirements, ours[1])
    return found


def resource(name: str) -> Path:
    """A shipped file or directory: "cmake", "mlir/mixed_invocation.mlir".

    In an installed package they lie inside it, under `share`; in a checkout at the top.
    """
    package = Path(__file__).resolve().parent
    installed = package / "share" / name
    return installed if installed.exists() else package.parent / name
