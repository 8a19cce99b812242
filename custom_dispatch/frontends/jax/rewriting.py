"""Kernels that are put into a function while it is still JAX's: where rules of their own find them.

A pattern is an example that a place has to equal. A rule looks at the traced function itself, so it
may follow dims through any transposition, and compare constants and activations by value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jax.extend.core import ClosedJaxpr

from custom_dispatch.replaced import Replaced


@dataclass(frozen=True, slots=True)
class Rule:
    """Puts kernels into a traced function, for `replace=` of `cd.jax.compile`.

    Rules come before patterns. None of their kernels has to be found.

    - `rewrite`: takes the function, and the groups of all rules that have this `rewrite`. Returns
      one that computes the same and calls kernels through `cd.jax.call`, and what these replaced.
    - `groups`: what this rule adds to the groups, which have the kind of the first targets, too:
      "cuda" if there are GPUs among them, else "cpu".
    """

    rewrite: Callable[[ClosedJaxpr, frozenset[str]], tuple[ClosedJaxpr, Replaced]]
    groups: tuple[str, ...]


def apply_rules(closed: ClosedJaxpr, rules: Sequence[Rule]) -> tuple[ClosedJaxpr, Replaced]:
    """A function with the kernels of all rules, and what they replaced."""
    report = Replaced()
    for rewrite in dict.fromkeys(rule.rewrite for rule in rules):
        groups = [rule.groups for rule in rules if rule.rewrite == rewrite]
        closed, found = rewrite(closed, frozenset(name for names in groups for name in names))
        report = report.and_those(found)
    return closed, report
