"""Calling NVRTC: as the program that `nvrtc_process.py` runs, or where this module is imported.

    python -I -S nvrtc_program.py LIBRARY...

Each message is eight bytes of length and as many bytes; in it are words, each four bytes of length
and as many bytes. Standard input: messages of the source, its name, the number of options, the
options, and the names whose symbols are wanted; or of nothing. Standard output: for each the
status, the log, the PTX and the symbols; or NVRTC's version and the architectures that it knows. It
ends with its input, and with the thread that started it. Only the standard library is used: it
starts in milliseconds.
"""

import ctypes
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
    nvrtc = [ctypes.CDLL(path) for path in sys.argv[1:]][-1]
    while (message := _message()) is not None:
        words = words_in(message)
        found = compile_source(nvrtc, words) if words else about(nvrtc)
        answer = b"".join(map(sized, found))
        sys.stdout.buffer.write(struct.pack("<Q", len(answer)) + answer)
        sys.stdout.buffer.flush()
    os._exit(0)  # nobody needs NVRTC to give its memory back piece by piece


def about(nvrtc: ctypes.CDLL) -> list[bytes]:
    """NVRTC's release, and the compute capabilities that it compiles for."""
    major, minor, count = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    _check(nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    _check(nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    archs = (ctypes.c_int * count.value)()
    _check(nvrtc.nvrtcGetSupportedArchs(archs))
    return [f"{major.value}.{minor.value}".encode(), *(str(arch).encode() for arch in archs)]


def compile_source(nvrtc: ctypes.CDLL, words: list[bytes]) -> list[bytes]:
    """The status, the log, and where it compiled the PTX and the symbols."""
    source, name, count, *rest = words
    options, names = rest[: int(count)], rest[int(count) :]
    program = ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, name, 0, None, None))
    for expression in names:
        _check(nvrtc.nvrtcAddNameExpression(program, expression))
    array = (ctypes.c_char_p * len(options))(*options)
    status = nvrtc.nvrtcCompileProgram(program, len(options), array)
    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
    found: list[bytes] = [nvrtc.nvrtcGetErrorString(status)]
    found.append(_text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog))
    if status == 0:
        found.append(_text(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX))
        for expression in names:
            symbol = ctypes.c_char_p()
            _check(nvrtc.nvrtcGetLoweredName(program, expression, ctypes.byref(symbol)))
            found.append(symbol.value or b"")
    _check(nvrtc.nvrtcDestroyProgram(ctypes.byref(program)))
    return found


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


def words_in(data: bytes) -> list[bytes]:
    """The words of a message."""
    found, position = [], 0
    while position < len(data):
        (size,) = struct.unpack_from("<I", data, position)
        position += 4
        found.append(data[position : position + size])
        position += size
    return found


def sized(data: bytes) -> bytes:
    """A word of a message, behind its length."""
    return struct.pack("<I", len(data)) + data


if __name__ == "__main__":
    sys.exit(main())
