"""NVRTC in a process whose addresses are always the same: run by `precompiled.py`, never imported.

    python -I -S nvrtc_helper.py LIBRARY...

NVRTC writes a precompiled header as its memory is, so one can only be read where that memory had
the same address (NVRTC 13.0 documentation, "Precompiled Headers"). Whoever starts this program has
turned the random placing of memory off; it loads the libraries before anything that depends on its
input.

Standard input: the source, its name, the number of options, the options, and the names whose
symbols are wanted. Standard output: the status, the log, the PTX and the symbols. Each is four
bytes of length and as many bytes. Only the standard library is used: it starts in milliseconds.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Callable

ADDR_NO_RANDOMIZE = 0x0040000  # linux/personality.h
ASK_PERSONALITY = 0xFFFFFFFF
EXIT_RANDOM = 3
"""The exit status where memory is placed at random: a container may forbid to turn that off."""


def main() -> int:
    """Compile what standard input says."""
    if not ctypes.CDLL(None).personality(ctypes.c_ulong(ASK_PERSONALITY)) & ADDR_NO_RANDOMIZE:
        return EXIT_RANDOM
    nvrtc = [ctypes.CDLL(path) for path in sys.argv[1:]][-1]
    source, name, count, *rest = _read(sys.stdin.buffer.read())
    options, names = rest[: int(count)], rest[int(count) :]
    sys.stdout.buffer.write(b"".join(map(_sized, _compile(nvrtc, source, name, options, names))))
    sys.stdout.buffer.flush()
    os._exit(0)  # nobody needs NVRTC to give its memory back piece by piece


def _compile(
    nvrtc: ctypes.CDLL, source: bytes, name: bytes, options: list[bytes], names: list[bytes]
) -> list[bytes]:
    program = ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, name, 0, None, None))
    for expression in names:
        _check(nvrtc.nvrtcAddNameExpression(program, expression))
    array = (ctypes.c_char_p * len(options))(*options)
    status = nvrtc.nvrtcCompileProgram(program, len(options), array)
    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
    found: list[bytes] = [nvrtc.nvrtcGetErrorString(status)]
    found.append(_text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog))
    if status != 0:
        return found
    found.append(_text(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX))
    for expression in names:
        symbol = ctypes.c_char_p()
        _check(nvrtc.nvrtcGetLoweredName(program, expression, ctypes.byref(symbol)))
        found.append(symbol.value or b"")
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


def _read(data: bytes) -> list[bytes]:
    found, position = [], 0
    while position < len(data):
        (size,) = struct.unpack_from("<I", data, position)
        position += 4
        found.append(data[position : position + size])
        position += size
    return found


def _sized(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


if __name__ == "__main__":
    sys.exit(main())
