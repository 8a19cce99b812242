"""Choosing between kernels when a function runs.

Every kernel that a call may fit is dispatched, one after the other into the same results, and all
but one over an empty grid, which IREE's runtime passes over. A branch would cost more: IREE submits
what stands between two branches by itself (benchmarks/results/dispatch_chain_h200.json).

IREE folds an empty grid to constants but keeps its dispatch, which the host records in every
call. So what every kernel asks for, such as a bias as long as the result is wide, or none, is no
reason to choose: it is checked, and a kernel that asks for no more than an earlier one goes.

Targets may have different orders: the shipped matrix products and attention have other kernels for
sm_90a than for sm_80, and a module for the default targets holds both. A dispatch names an entry
point for each variant, and these may be of several executables: so one dispatch is one kernel on
sm_90a and another on sm_80, and where sizes tell everything there is one dispatch for all targets.
IREE finds the variant when a module is loaded; the function asks no device. Only where kernels take
other operands than each other does each have a dispatch of its own, which runs on the targets that
want it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from custom_dispatch.errors import LinkError
from custom_dispatch.ir.dispatch import Tensor
from custom_dispatch.ir.emitter import Emitter
from custom_dispatch.ir.executable import EntryPoints, entry_list
from custom_dispatch.ir.index_arithmetic import Check
from custom_dispatch.ir.tensor_types import Signature
from custom_dispatch.ir.wrapper_body import Where, WrapperBody
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import fits_none, is_same_on
from custom_dispatch.kernel.evaluation import dims_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.shapes import declared_shapes
from custom_dispatch.kernel.target import Target


@dataclass(frozen=True, slots=True)
class Order:
    """Kernels, the preferred one first, and the targets that prefer them so."""

    targets: frozenset[int]
    """Their ordinals in the library."""
    kernels: tuple[Kernel, ...]

    @classmethod
    def of(cls, kernel: Kernel, targets: Sequence[Target]) -> Order:
        """One kernel, on every target."""
        return cls(frozenset(range(len(targets))), (kernel,))


def orders_of(
    choice: Choice, dims: Mapping[str, int], targets: Sequence[Target]
) -> tuple[Order, ...]:
    """The orders of a choice for calls of which these sizes are known: one, where targets agree."""
    return joined(
        Order(frozenset({ordinal}), _without_repeats(choice.ordered(dims, target), dims, target))
        for ordinal, target in enumerate(targets)
    )


def _without_repeats(
    kernels: Sequence[Kernel], dims: Mapping[str, int], target: Target
) -> tuple[Kernel, ...]:
    """Without a kernel before one that is the same code on a target, and takes all that it does.

    So one implementation for every CPU is one dispatch, whatever GPUs have to choose from. Where
    all sizes that decide are known there is one in any case.
    """
    asked = [side for item in kernels for c in item.requires for side in (c.left, c.right)]
    if all(dim.name in dims for dim in dims_of(*asked)):
        return tuple(kernels)
    kept = [kernels[-1]]
    for kernel in reversed(kernels[:-1]):
        after = {*map(str, kept[-1].requires)}
        if not (after <= {*map(str, kernel.requires)} and is_same_on(target, kernel, kept[-1])):
            kept.append(kernel)
    return tuple(reversed(kept))


def joined(orders: Iterable[Order]) -> tuple[Order, ...]:
    """The same with one order for all targets that agree."""
    found: dict[tuple[object, ...], Order] = {}
    for order in orders:
        key = tuple((item.name, *map(str, item.requires)) for item in order.kernels)
        same = found.get(key)
        targets = order.targets if same is None else order.targets | same.targets
        found[key] = Order(targets, order.kernels if same is None else same.kernels)
    return tuple(found.values())


def kernels_in(orders: Sequence[Order]) -> tuple[Kernel, ...]:
    """Every kernel once, by its name."""
    return tuple({item.name: item for order in orders for item in order.kernels}.values())


_Possible = list[tuple[WrapperBody, list[str]]]
"""Kernels that a call may fit, and i1 values that say whether it does; none: it certainly does."""
_Shared = dict[int, tuple[WrapperBody, str]]
"""What a dispatch is on the targets of each order, and an i1 value that says whether it runs."""
_NO_ENTRY_POINTS = EntryPoints((), ())


def write_choice(
    name: str,
    orders: Sequence[Sequence[WrapperBody]],
    targets: Sequence[frozenset[int]],
    *,
    dispatches: bool,
) -> tuple[list[Tensor], list[str]]:
    """Everything but the return: the results as tensors, and their values.

    - `orders`: the bodies of its kernels, the preferred one first, into one block: as some targets
      prefer them, and as others do.
    - `targets`: the ordinals of these targets, for each of the orders.
    """
    possible, common = _candidates(name, orders)
    first = possible[0][0][0]
    for check in common:
        first.guards.write(check, f"choice `{name}`")
    chosen = [_decide(name, each) for each in possible]
    bodies: dict[WrapperBody, list[str]] = {}
    for each, flags in zip(possible, chosen, strict=True):
        for (body, _), flag in zip(each, flags, strict=True):
            bodies.setdefault(body, []).append(flag)
    wanted: list[Tensor] = []
    for body, flags in bodies.items():
        if all(flags):
            body.run_if(body.body.joined("arith.ori", dict.fromkeys(flags), "i1"))
        found = body.prepare()
        if wanted and any(a.sizes != b.sizes for a, b in zip(wanted, found, strict=True)):
            raise LinkError(
                f"Choice `{name}`: the results of `{first.kernel.name}` and "
                f"`{body.kernel.name}` have other sizes, and only the call tells which it is.",
                expected="kernels whose results have the same shapes, or sizes that are known when "
                "the model is compiled",
                next_step="declare the same shapes, or compile the model for the sizes.",
            )
        wanted = wanted or found
    if not dispatches:
        return wanted, first.sizes_alone()
    values: list[str] | None = None
    for shared in _shared(possible, chosen):
        body, _ = next(iter(shared.values()))
        values = body.dispatch(values, _where(shared, targets))
    return wanted, values or []


def candidates(name: str, orders: Sequence[Order], signature: Signature) -> tuple[Order, ...]:
    """Those kernels that calls of a function may fit, as far as its type tells."""
    body = Emitter(1)  # one for all: equal conditions are then one value
    arguments = {
        operand.name: body.fresh(operand.name) for operand in kernels_in(orders)[0].arguments
    }
    bodies = [
        [
            WrapperBody(
                kernel,
                signature,
                _NO_ENTRY_POINTS,
                cpu=None,
                checked=False,
                body=body,
                arguments=arguments,
            )
            for kernel in order.kernels
        ]
        for order in orders
    ]
    possible, _ = _candidates(name, bodies)
    return joined(
        Order(order.targets, tuple(body.kernel for body, _ in found))
        for order, found in zip(orders, possible, strict=True)
    )


def _candidates(
    name: str, orders: Sequence[Sequence[WrapperBody]]
) -> tuple[list[_Possible], list[Check]]:
    """The kernels that a call may fit, with what has to hold for each; and what has to for all.

    Of those behind the first of an order that has nothing of its own to ask for none is left.
    """
    fitting: dict[WrapperBody, dict[str, Check]] = {}
    refusals: list[LinkError] = []
    for body in (body for order in orders for body in order):
        try:
            if body not in fitting:
                fitting[body] = {check.holds: check for check in body.conditions()}
        except LinkError as error:
            refusals.append(error)
    every = list(fitting.values())
    asked = every[0] if every else {}
    common = [value for value in asked if all(value in conditions for conditions in every)]
    possible = []
    for order in orders:
        found: _Possible = []
        for body in order:
            if body not in fitting:
                continue
            own = [value for value in fitting[body] if value not in common]
            if not any(set(earlier) <= set(own) for _, earlier in found):
                found.append((body, own))
        if not found:
            raise fits_none(f"No kernel of choice `{name}` takes the model's sizes.", refusals)
        possible.append(found)
    return possible, [asked[value] for value in common]


def _decide(name: str, possible: _Possible) -> list[str]:
    """The i1 values that say whether each kernel runs: where a call fits it and none before it.

    None for one that certainly does.
    """
    if not possible[0][1]:
        return [""]
    first = possible[0][0]
    block = first.body
    true = block.pure("arith.constant true", "true")
    taken = ""
    chosen = []
    for _, conditions in possible:
        fits = block.joined("arith.andi", conditions, "i1") or true
        if not taken:
            chosen.append(fits)
            taken = fits
            continue
        rest = block.pure(f"arith.xori {taken}, {true} : i1")
        chosen.append(block.pure(f"arith.andi {rest}, {fits} : i1", "chosen"))
        taken = block.pure(f"arith.ori {taken}, {fits} : i1")
    if possible[-1][1]:
        check = Check(taken, f"no kernel takes these sizes: {_said(possible)}")
        first.guards.write(check, f"choice `{name}`", always=True)
    return chosen


def _shared(possible: Sequence[_Possible], chosen: Sequence[Sequence[str]]) -> list[_Shared]:
    """The dispatches: each kernel of an order with the same one of the others, or with one that
    takes the same.
    """
    found: list[_Shared] = []
    for order, (kernels, flags) in enumerate(zip(possible, chosen, strict=True)):
        left = []
        for (body, _), flag in zip(kernels, flags, strict=True):
            free = [each for each in found if order not in each]
            name = body.kernel.name
            same = [each for each in free if any(b.kernel.name == name for b, _ in each.values())]
            if same:
                same[0][order] = body, flag
            else:
                left.append((body, flag))
        for body, flag in left:
            free = [each for each in found if order not in each and _lead(each).stands_for(body)]
            if free:
                free[0][order] = body, flag
            else:
                found.append({order: (body, flag)})
    return found


def _lead(shared: _Shared) -> WrapperBody:
    return next(iter(shared.values()))[0]


def _where(shared: _Shared, targets: Sequence[frozenset[int]]) -> Where:
    """On which targets a dispatch runs, and as which kernel."""
    lead = _lead(shared)
    block = lead.body
    certain, values = 0, []
    for order, (_, flag) in shared.items():
        bits = sum(1 << target for target in targets[order])
        if not flag:
            certain |= bits
            continue
        select = f"arith.select {flag}, {block.index(bits)}, {block.index(0)} : index"
        values.append(block.pure(select, "runs"))
    certainly = [block.index(certain)] if certain else []
    runs = block.joined("arith.ori", [*certainly, *values], "index", "runs")
    bodies = {target: body for order, (body, _) in shared.items() for target in targets[order]}
    points = [bodies.get(item.target, lead).entry_points for item in lead.entry_points.variants]
    taken = [item.symbols[place] for place, item in enumerate(points)]
    # Named last, they are never come to, and stay in the module: each executable has to have a
    # variant for the device, or loading fails.
    every = [symbol for body in bodies.values() for symbol in body.entry_points.symbols]
    on_cpu = bodies.get(max(map(max, targets)), lead)
    return Where(entry_list(dict.fromkeys([*taken, *every])), runs, on_cpu.grid_x)


def _said(possible: Sequence[tuple[WrapperBody, list[str]]]) -> str:
    parts = []
    for body, _ in possible:
        kernel = body.kernel
        required = f" with {', '.join(map(str, kernel.requires))}" if kernel.requires else ""
        parts.append(f"`{kernel.name}` takes {declared_shapes(kernel)}{required}")
    return "; ".join(parts)
