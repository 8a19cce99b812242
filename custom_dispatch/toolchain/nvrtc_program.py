"""Calling NVRTC: the program that `nvrtc_process.py` runs.

    python -I -S nvrtc_program.py LIBRARY...

Each message is eight bytes of length and a value as `marshal` writes it. Standard input: the
source, its name, the options, and the names whose symbols are wanted; or None. Standard output: for
each the status, the log, the PTX and the symbols; or NVRTC's release and the architectures that it
knows. It ends with its input, and with the thread that started it. Only the standard library is
used: it starts in milliseconds.
"""

import ctypes
import marshal
import os
import struct
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG, _SIGKILL = 1, 9  # linux/prctl.h, signal(7)


def main() -> int:
    """Compile what standard input says."""
    system = ctypes.CDLL(None)
    # Nobody wants the result of a process that was killed. Where it was so before this, the input
    # has ended.
    system.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    try:
        nvrtc = [ctypes.CDLL(path) for path in sys.argv[1:]][-1]
        known = about(nvrtc)
    except (AttributeError, OSError, RuntimeError) as problem:
        sys.exit(str(problem).strip() or repr(problem))
    while (message := _message()) is not None:
        asked = marshal.loads(message)  # noqa: S302 - of the process that started this one
        answer = marshal.dumps(known if asked is None else compile_source(nvrtc, *asked))
        sys.stdout.buffer.write(struct.pack("<Q", len(answer)) + answer)
        sys.stdout.buffer.flush()
    os._exit(0)  # nobody needs NVRTC to give its memory back piece by piece


def about(nvrtc: ctypes.CDLL) -> tuple[str, list[int]]:
    """NVRTC's release, and the compute capabilities that it compiles for."""
    major, minor, count = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    _check(nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    _check(nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    archs = (ctypes.c_int * count.value)()
    _check(nvrtc.nvrtcGetSupportedArchs(archs))
    return f"{major.value}.{minor.value}", sorted(archs)


def compile_source(
    nvrtc: ctypes.CDLL, source: bytes, name: bytes, options: list[bytes], names: list[bytes]
) -> tuple[bytes, bytes, bytes, list[bytes]]:
    """The status, the log, the PTX and the symbols; the latter are empty where it failed."""
    program = ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, name, 0, None, None))
    for expression in names:
        _check(nvrtc.nvrtcAddNameExpression(program, expression))
    array = (ctypes.c_char_p * len(options))(*options)
    status = nvrtc.nvrtcCompileProgram(program, len(options), array)
    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
    log = _text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
    ptx, symbols = b"", []
    if status == 0:
        ptx = _text(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
        for expression in names:
            symbol = ctypes.c_char_p()
            _check(nvrtc.nvrtcGetLoweredName(program, expression, ctypes.byref(symbol)))
            symbols.append(symbol.value or b"")
    _check(nvrtc.nvrtcDestroyProgram(ctypes.byref(program)))
    return nvrtc.nvrtcGetErrorString(status), log, ptx, symbols


def _text(program: ctypes.c_void_p, ask_size: Callable[..., int], ask: Callable[..., int]) -> bytes:
    size = ctypes.c_size_t()
    _check(ask_size(program, ctypes.byref(size)))
    text = ctypes.create_string_buffer(size.value)
    _check(ask(program, text))
    return text.raw


def _check(status: int) -> None:
    if status != 0:
        raise RuntimeError(status)


def _message() -> bytes | None:
    """The next message; None where there will be no more."""
    head = sys.stdin.buffer.read(8)
    if len(head) < 8:
        return None
    (size,) = struct.unpack("<Q", head)
    message = sys.stdin.buffer.read(size)
    return message if len(message) == size else None


if __name__ == "__main__":
    sys.exit(main())
