"""Barriers as CUDA graphs need them, in IREE's HAL form."""

from __future__ import annotations

import re

from iree.compiler import ir

from custom_dispatch.ir.compiler_tool import run_compiler
from custom_dispatch.link.graph_barriers import keep_order, limit_width

FILL = "hal.command_buffer.fill_buffer<%c : !hal.command_buffer> target(%b : !hal.buffer)"
FILL += '[%zero, {length}] pattern(%one : i32) flags("None")'
BARRIER = "hal.command_buffer.execution_barrier<%c : !hal.command_buffer> "
BARRIER += 'source("Dispatch") target("CommandIssue") flags("None")'


def recording(*groups: list[str]) -> str:
    """A function that fills so many bytes in groups, with a barrier after each."""
    lines = [
        line
        for group in groups
        for line in (*(FILL.format(length=length) for length in group), BARRIER)
    ]
    return "\n  ".join(
        [
            "util.func public @f(%c: !hal.command_buffer, %b: !hal.buffer, %n: index) {",
            "%zero = arith.constant 0 : index",
            "%four = arith.constant 4 : index",
            "%one = arith.constant 1 : i32",
            *lines,
            "util.return\n}",
        ]
    )


def test_what_is_no_graph_keeps_its_order() -> None:
    """To a CUDA graph a barrier right after another lets what follows wait for nothing."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(recording(["%n", "%four"], ["%n"]))
        function = module.body.operations[0].operation
        keep_order(module, function)
        text = str(module)
    assert len(re.findall(r"scf\.if %\d+ \{\s+hal\.command_buffer\.execution_barrier", text)) == 3
    assert text.count("execution_barrier") == 3
    assert text.count("arith.ori") == 3  # each command counts
    assert text.count("util.global private mutable @custom_dispatch.recorded = 0 : index") == 1
    done = run_compiler(["-", "-o", "-", "--compile-from=hal", "--compile-to=vm"], text.encode())
    assert done.stdout.decode().count("vm.cond_br") >= 2


def test_several_commands_do_not_directly_follow_several() -> None:
    """They would begin late, as each waits for many others. And IREE takes 32 at once."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(recording(*(["%n"] * count for count in (3, 2, 4, 1, 2, 40))))
        limit_width(module.body.operations[0].operation)
        groups = str(module).split("execution_barrier")
    counts = [group.count("fill_buffer") for group in groups]
    assert counts == [3, 1, 1, 4, 1, 2, 1, 32, 1, 6, 0]


def test_commands_of_which_one_runs_are_one() -> None:
    """Each target has a block of its own: together they are not several, and need no barrier."""
    fill = FILL.format(length="%four")
    lines = []
    for index in range(4):
        arms = (
            f"^arm{index}_{target}: // of one target\n{fill}\ncf.br ^done{index}" for target in "ab"
        )
        lines += [f"cf.cond_br %p, ^arm{index}_a, ^arm{index}_b", *arms, f"^done{index}:", BARRIER]
    text = recording().replace("util.return", "\n".join([*lines, "util.return"]))
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text.replace("%n: index", "%n: index, %p: i1"))
        before = str(module)
        limit_width(module.body.operations[0].operation)
        assert str(module) == before
