"""Choosing between kernels when a function runs.

Every kernel that a call may fit is dispatched, one after the other into the same results, and all
but one over an empty grid, which IREE's runtime passes over. A branch would cost more: IREE submits
what stands between two branches by itself (benchmarks/results/dispatch_chain_h200.json).

IREE folds an empty grid to constants but keeps its dispatch, which costs the host as much as a
launch. So what every kernel asks for, such as a bias as long as the result is wide, or none, is no
reason to choose: it is checked, and a kernel that asks for no more than an earlier one goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from custom_dispatch.errors import LinkError
from custom_dispatch.ir.arithmetic import Check
from custom_dispatch.ir.dispatch import Tensor
from custom_dispatch.ir.emitter import Emitter
from custom_dispatch.ir.signature import Signature
from custom_dispatch.ir.wrapper_body import WrapperBody
from custom_dispatch.kernel.buffer import Scratch
from custom_dispatch.kernel.kernel import Kernel


def write_choice(
    name: str, bodies: Sequence[WrapperBody], *, dispatches: bool
) -> tuple[list[Tensor], list[str]]:
    """Everything but the return: the results as tensors, and their values.

    Parameters
    ----------
    name
        The choice's.
    bodies
        Those of its kernels, the preferred one first, into one block.

    Raises
    ------
    LinkError
        The sizes that are known fit no kernel; or results have other sizes for one kernel than for
        another, and nobody knows which it will be.
    """
    possible, common = _candidates(name, bodies)
    for check in common:
        possible[0][0].guards.write(check, f"choice `{name}`")
    if len(possible) > 1:
        _decide(name, possible)
    wanted: list[Tensor] = []
    for body, _ in possible:
        found = body.prepare()
        if wanted and any(a.sizes != b.sizes for a, b in zip(wanted, found, strict=True)):
            raise LinkError(
                f"Choice `{name}`: the results of `{possible[0][0].kernel.name}` and "
                f"`{body.kernel.name}` have other sizes, and only the call tells which it is.",
                expected="kernels whose results have the same shapes, or sizes that are known when "
                "the model is compiled",
                next_step="declare the same shapes, or compile the model for the sizes.",
            )
        wanted = wanted or found
    if not dispatches:
        return wanted, possible[0][0].sizes_alone()
    values: list[str] | None = None
    for body, _ in possible:
        values = body.dispatch(values)
    return wanted, values or []


def candidates(name: str, kernels: Sequence[Kernel], signature: Signature) -> tuple[Kernel, ...]:
    """Those kernels that calls of a function may fit, as far as its type tells.

    Raises
    ------
    LinkError
        There is none.
    """
    body = Emitter(1)  # one for all: equal conditions are then one value
    arguments = {operand.name: body.fresh(operand.name) for operand in kernels[0].arguments}
    bodies = [
        WrapperBody(kernel, signature, "", cpu=None, checked=False, body=body, arguments=arguments)
        for kernel in kernels
    ]
    return tuple(body.kernel for body, _ in _candidates(name, bodies)[0])


def _candidates(
    name: str, bodies: Sequence[WrapperBody]
) -> tuple[list[tuple[WrapperBody, list[str]]], list[Check]]:
    """The kernels that a call may fit, with what has to hold for each; and what has to for all.

    Of those behind the first that has nothing of its own to ask for none is left.
    """
    found: list[tuple[WrapperBody, dict[str, Check]]] = []
    reasons = []
    for body in bodies:
        try:
            found.append((body, {check.holds: check for check in body.conditions()}))
        except LinkError as error:
            reasons.append(error.found)
    if not found:
        raise no_kernel(name, reasons)
    first = found[0][1]
    common = [value for value in first if all(value in conditions for _, conditions in found)]
    possible: list[tuple[WrapperBody, list[str]]] = []
    for body, conditions in found:
        own = [value for value in conditions if value not in common]
        if not any(set(earlier) <= set(own) for _, earlier in possible):
            possible.append((body, own))
    return possible, [first[value] for value in common]


def no_kernel(name: str, reasons: Sequence[str], what: str = "the model's sizes") -> LinkError:
    """The error where no kernel of a choice fits."""
    return LinkError(
        f"No kernel of choice `{name}` takes {what}.",
        expected="what one of them takes",
        next_step="correct the model, or add a kernel that takes these; of those there are:",
        log="\n".join(reasons),
    )


def _decide(name: str, possible: Sequence[tuple[WrapperBody, list[str]]]) -> None:
    """Let each kernel run where a call fits it and none before it."""
    block = possible[0][0].body
    true = block.pure("arith.constant true", "true")
    taken = ""
    for body, conditions in possible:
        fits = true
        for condition in conditions:
            fits = condition if fits == true else block.pure(f"arith.andi {fits}, {condition} : i1")
        if not taken:
            body.run_if(fits)
            taken = fits
            continue
        rest = block.pure(f"arith.xori {taken}, {true} : i1")
        body.run_if(block.pure(f"arith.andi {rest}, {fits} : i1", "chosen"))
        taken = block.pure(f"arith.ori {taken}, {fits} : i1")
    if not possible[-1][1]:
        return
    check = Check(taken, f"no kernel takes these sizes: {_said(possible)}")
    possible[0][0].guards.write(check, f"choice `{name}`", always=True)


def _said(possible: Sequence[tuple[WrapperBody, list[str]]]) -> str:
    parts = []
    for body, _ in possible:
        kernel = body.kernel
        buffers = [item for item in kernel.abi.bindings if not isinstance(item, Scratch)]
        shapes = ", ".join(f"{item.name}[{item.declared_shape}]" for item in buffers)
        required = f" with {', '.join(map(str, kernel.requires))}" if kernel.requires else ""
        parts.append(f"`{kernel.name}` takes {shapes}{required}")
    return "; ".join(parts)
