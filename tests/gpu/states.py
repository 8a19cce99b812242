"""A tiny Llama whose cache is state of the module, on a GPU: the tokens that PyTorch generates.

Two halves: `build` needs PyTorch, transformers and this package's compilers, and no GPU; then,
where there is a GPU, IREE's runtime is enough for

    python tests/gpu/states.py run DIRECTORY [--device cuda]

The prompt is random and fresh in every build. The model is that of
`tests/shipped_kernels/test_llama_static_cache.py`; its logits were computed by PyTorch on the CPU.
Everything is in one file: cache and weights, too.
"""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from gpu.each import run_each
from gpu.halves import options

TARGETS = cd.DEFAULT_TARGETS
TOLERANCE = 1e-3
"""Of ||error|| / ||logits||: IREE's products of f32 are in another order."""
MODEL, STEPS = "llama.vmfb", "steps.npz"
NAMES = ("tokens", "positions")
Array = np.ndarray[Any, Any]


def build(directory: Path) -> None:
    """Compile the model, and store what PyTorch generates."""
    import torch
    from shipped_kernels import test_llama_static_cache as tiny

    from cuda_kernels.patterns import torch as torch_patterns

    directory.mkdir(parents=True, exist_ok=True)
    generator, seed = tiny.Generator(), secrets.randbits(32)
    prompt = torch.randint(64, (1, tiny.PROMPT), generator=torch.Generator().manual_seed(seed))
    count = torch.export.Dim("count", min=1, max=tiny.KEYS)
    module = cd.torch.compile(
        generator,
        (prompt, torch.arange(tiny.PROMPT)),
        TARGETS,
        replace=torch_patterns.write_cache + torch_patterns.attention,
        dynamic_shapes={"tokens": {1: count}, "positions": {0: count}},
        inline_bytes=None,
    )
    # Updates of both caches and attention, of two layers.
    assert len(module.replaced) == 6, module.replaced
    saved = module.save(directory / MODEL)
    assert [path.name for path in directory.iterdir() if path.suffix != ".npz"] == [MODEL]
    steps: dict[str, Array] = {}
    tokens, positions = prompt, torch.arange(tiny.PROMPT)
    for step in range(tiny.STEPS):
        with torch.no_grad():
            logits = generator(tokens, positions)
        steps[f"tokens{step}"], steps[f"positions{step}"] = tokens.numpy(), positions.numpy()
        steps[f"logits{step}"] = logits.numpy()
        tokens, positions = logits[:, -1:].argmax(-1), torch.tensor([tiny.PROMPT + step])
    with torch.no_grad():  # the last step in a cache that has nothing else
        alone = tiny.Generator()(*(torch.from_numpy(steps[f"{name}{step}"]) for name in NAMES))
    np.savez(directory / STEPS, last=tokens.numpy(), alone=alone.numpy(), **steps)
    print(f"{MODEL}: {saved.stat().st_size} bytes, prompt of seed {seed}")


class Stored:
    """What PyTorch generated, and the module, freshly loaded."""

    def __init__(self, directory: Path, device: str) -> None:
        found = np.load(directory / STEPS)
        self.count = sum(name.startswith("logits") for name in found.files)
        self.tokens = [found[f"tokens{step}"] for step in range(self.count)]
        self.positions = [found[f"positions{step}"] for step in range(self.count)]
        self.logits = [found[f"logits{step}"] for step in range(self.count)]
        self.chosen = [*self.tokens[1:], found["last"]]
        self.alone = found["alone"]
        self.directory, self.device = directory, device
        self.program = self.load()

    def load(self) -> cd.Program:
        """One more of it, with a state of its own."""
        return cd.load(self.directory / MODEL, self.device)

    def compare(self, step: int, found: Array) -> None:
        """Raise if logits are not PyTorch's."""
        off = _off(found, self.logits[step])
        assert off <= TOLERANCE, f"step {step}: logits are off by {off:.2g} of themselves"


def _off(found: Array, wanted: Array) -> float:
    assert found.shape == wanted.shape, f"{found.shape} instead of {wanted.shape}"
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def _generate(stored: Stored, program: cd.Program) -> None:
    tokens = stored.tokens[0]
    for step in range(stored.count):
        found = program.main(tokens, stored.positions[step])
        stored.compare(step, found)
        tokens = found[:, -1:].argmax(-1)
        wanted = stored.chosen[step]
        assert np.array_equal(tokens, wanted), f"step {step}: {tokens}, PyTorch has {wanted}"


def generates_what_pytorch_does(stored: Stored) -> None:
    _generate(stored, stored.program)


def a_reset_empties_the_cache(stored: Stored) -> None:
    last = stored.count - 1
    given = stored.tokens[last], stored.positions[last]
    for _ in range(2):
        off = _off(stored.program.main(*given), stored.alone)
        assert off <= TOLERANCE, f"what is alone in the cache is off by {off:.2g}"
        _generate(stored, stored.program)
        kept = stored.program.main(*given)  # once more, on all that is there
        stored.compare(last, kept)
        assert _off(kept, stored.alone) > 10 * TOLERANCE, "the cache makes no difference"
        stored.program.reset()


def steps_submitted_without_waiting_take_turns(stored: Stored) -> None:
    for _ in range(5):
        pairs = zip(stored.tokens, stored.positions, strict=True)
        under_way = [stored.program.main.submit(*pair) for pair in pairs]
        for step, one in enumerate(under_way):
            stored.compare(step, one.result())
        stored.program.reset()


def arguments_on_the_device_are_taken(stored: Stored) -> None:
    held = stored.program.to_device
    for step in range(stored.count):
        given = held(stored.tokens[step]), held(stored.positions[step])
        stored.compare(step, np.asarray(stored.program.main(*given)))


def two_that_are_loaded_have_two_states(stored: Stored) -> None:
    other = stored.load()
    stored.compare(0, stored.program.main(stored.tokens[0], stored.positions[0]))
    for step in range(stored.count):  # the other is a step behind
        stored.compare(step, other.main(stored.tokens[step], stored.positions[step]))
        if step + 1 < stored.count:
            ahead = stored.tokens[step + 1], stored.positions[step + 1]
            stored.compare(step + 1, stored.program.main(*ahead))


CASES = (
    generates_what_pytorch_does,
    a_reset_empties_the_cache,
    steps_submitted_without_waiting_take_turns,
    arguments_on_the_device_are_taken,
    two_that_are_loaded_have_two_states,
)


def main() -> int:
    """Build or run."""
    given = options(__doc__)
    if given.half == "build":
        build(given.directory)
        return 0
    return run_each(CASES, lambda: (Stored(given.directory, given.device),))


if __name__ == "__main__":
    sys.exit(main())
