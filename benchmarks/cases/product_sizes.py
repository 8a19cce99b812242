"""Sizes of products that nobody tuned for: random rows, the widths of public models, and odd ones.

The widths are those of the models' published configurations (`config.json` of each on Hugging
Face): hidden and intermediate sizes, heads times their size, and the vocabulary.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass

MOST_ROWS = 6000
WIDTHS: dict[str, dict[str, tuple[int, int]]] = {
    "BERT-base": {
        "q": (768, 768),
        "up": (3072, 768),
        "down": (768, 3072),
        "head": (30522, 768),
    },
    "GPT-2 XL": {
        "qkv": (4800, 1600),
        "o": (1600, 1600),
        "up": (6400, 1600),
        "down": (1600, 6400),
        "head": (50257, 1600),
    },
    "Qwen2.5-0.5B": {
        "q": (896, 896),
        "kv": (128, 896),
        "gate": (4864, 896),
        "down": (896, 4864),
        "head": (151936, 896),
    },
    "Llama-3.2-1B": {
        "q": (2048, 2048),
        "kv": (512, 2048),
        "gate": (8192, 2048),
        "down": (2048, 8192),
        "head": (128256, 2048),
    },
    "Gemma-2-2B": {
        "q": (2048, 2304),
        "kv": (1024, 2304),
        "o": (2304, 2048),
        "gate": (9216, 2304),
        "down": (2304, 9216),
    },
    "Phi-3-mini": {
        "qkv": (9216, 3072),
        "o": (3072, 3072),
        "gate_up": (16384, 3072),
        "down": (3072, 8192),
        "head": (32064, 3072),
    },
    "Mistral-Nemo": {
        "q": (4096, 5120),
        "kv": (1024, 5120),
        "o": (5120, 4096),
        "gate": (14336, 5120),
        "down": (5120, 14336),
    },
    "Qwen2.5-14B": {
        "q": (5120, 5120),
        "qkv": (7168, 5120),
        "gate": (13824, 5120),
        "down": (5120, 13824),
    },
    "Llama-3-70B": {
        "q": (8192, 8192),
        "kv": (1024, 8192),
        "gate": (28672, 8192),
        "down": (8192, 28672),
    },
    "DeepSeek-V2-Lite": {
        "q": (3072, 2048),
        "kv_a": (576, 2048),
        "kv_b": (4096, 512),
        "gate": (10944, 2048),
        "down": (2048, 10944),
        "expert": (1408, 2048),
        "expert_down": (2048, 1408),
    },
}
"""By model and layer, n and k of its weights [n, k]."""
ODD_RANGE = 40, 5000
"""Of n and k of unaligned sizes."""


@dataclass(frozen=True)
class Size:
    """A product of m rows, and whose weights it has."""

    m: int
    n: int
    k: int
    of: str
    """A model and its layer, or "odd"."""


def drawn(seed: int, count: int, measured: Collection[tuple[int, int, int]] = ()) -> list[Size]:
    """Sizes of models, and a quarter as many unaligned ones.

    Rows are log-uniform: as many draws of each factor. The order is random.

    Parameters
    ----------
    seed
        Another one gives other sizes.
    measured
        m, n and k that a table has, which are not drawn.
    """
    chance = random.Random(seed)  # noqa: S311 (nothing secret)
    models = _each_in_turn(chance)
    found: list[Size] = []
    for number in range(count):
        while True:
            model = next(models)
            layer, (n, k) = chance.choice(list(WIDTHS[model].items()))
            size = Size(_rows(chance, number, count), n, k, f"{model} {layer}")
            if (size.m, n, k) not in measured:
                break
        found.append(size)
    odd = count // 4
    for number in range(odd):
        n, k = (_log_uniform(chance.random(), *ODD_RANGE) for _ in "nk")
        # One of both has rows that are not whole 16 bytes, mostly both.
        n, k = (n, k + 1) if n % 8 == 0 and k % 8 == 0 else (n, k)
        found.append(Size(_rows(chance, number, odd), n, k, "odd"))
    chance.shuffle(found)
    return found


def _each_in_turn(chance: random.Random) -> Iterator[str]:
    """Models in a random order, each as often."""
    while True:
        names = list(WIDTHS)
        chance.shuffle(names)
        yield from names


def _rows(chance: random.Random, number: int, count: int) -> int:
    """Rows of the number-th of so many equal parts of the logarithm's range."""
    return _log_uniform((number + chance.random()) / count, 1, MOST_ROWS)


def _log_uniform(part: float, low: int, high: int) -> int:
    return min(int(low * ((high + 1) / low) ** part), high)
