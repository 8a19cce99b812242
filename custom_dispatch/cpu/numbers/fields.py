"""The parts of a word that have as many bits each, lowest first."""

from collections.abc import Sequence

from custom_dispatch.cpu.text.ssa_value import SsaValue


def split(word: SsaValue, bits: int) -> list[SsaValue]:
    """The parts, as integers of so many bits, of an integer of another width."""
    parts = [word, *(word >> start for start in range(bits, word.bits, bits))]
    return [part.resize(bits) for part in parts]


def join(parts: Sequence[SsaValue], of: int = 32) -> SsaValue:
    """The integer of a width that has these parts, integers of one width."""
    word = parts[0].resize(of)
    for index, part in enumerate(parts[1:], 1):
        word = word | part.resize(of) << index * part.bits
    return word
