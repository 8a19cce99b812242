"""Integers of a model whose values are not known: polynomials of what is not known about them.

Sizes and positions are compared as such, so that one is the same however a model computes it:
`(a + b) * 2 - b` and `2 * a + b` have one form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

Product = frozenset[tuple["Atom", int]]
"""Atoms and how often each is a factor; empty for 1."""
Number = Union[int, "Polynomial"]
_ONE: Product = frozenset()


@dataclass(frozen=True, slots=True)
class Atom:
    """A number of which nothing else is known.

    - `of`: what tells it from others: a word for what it is, and of what.
    - `name`: what messages call it.
    - `least`: the least that it can be; None where that is not known.
    """

    of: tuple[Any, ...]
    name: str = field(compare=False)
    least: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Polynomial:
    """A sum of products of atoms, each with a factor that is not 0."""

    terms: Mapping[Product, int]

    @staticmethod
    def of(value: Number | Atom) -> Polynomial:
        """A number or an atom as a polynomial."""
        if isinstance(value, Polynomial):
            return value
        if isinstance(value, Atom):
            return Polynomial({frozenset({(value, 1)}): 1})
        return Polynomial({_ONE: value} if value else {})

    @property
    def constant(self) -> int:
        """What is added to all products of atoms."""
        return self.terms.get(_ONE, 0)

    @property
    def number(self) -> int | None:
        """Its value, where that is known."""
        return self.constant if self.terms.keys() <= {_ONE} else None

    @property
    def atom(self) -> Atom | None:
        """The atom that it is, where it is nothing else."""
        if len(self.terms) != 1:
            return None
        ((product, factor),) = self.terms.items()
        ((atom, power),) = product if len(product) == 1 else [(None, 0)]
        return atom if factor == power == 1 else None

    @property
    def atoms(self) -> frozenset[Atom]:
        """Every atom in it."""
        return frozenset(atom for product in self.terms for atom, _ in product)

    @property
    def least(self) -> int | None:
        """A number that it is never less than; None where none is known."""
        total = 0
        for product, factor in self.terms.items():
            least = 1
            for atom, power in product:
                if atom.least is None or atom.least < 0:
                    return None
                least *= atom.least**power
            if factor < 0 and product:
                return None
            total += factor * least
        return total

    def factor_of(self, atom: Atom) -> int | None:
        """What an atom is multiplied with; None where it is in a product with others, too."""
        alone = frozenset({(atom, 1)})
        others = any(
            atom == other for product in self.terms if product != alone for other, _ in product
        )
        return None if others else self.terms.get(alone, 0)

    def replaced(self, values: Mapping[Atom, Number] | Callable[[Atom], Number]) -> Polynomial:
        """The same with other numbers in the place of atoms."""
        value_of = (
            values if callable(values) else lambda atom: values.get(atom, Polynomial.of(atom))
        )
        total = Polynomial({})
        for product, factor in self.terms.items():
            term = Polynomial.of(factor)
            for atom, power in product:
                for _ in range(power):
                    term *= value_of(atom)
            total += term
        return total

    def divided(self, by: Number) -> Polynomial | None:
        """The quotient, where nothing remains; None where that is not known.

        What it is divided by is taken not to be 0.
        """
        divisor = Polynomial.of(by)
        if divisor.terms == self.terms:
            return Polynomial.of(1)
        if len(divisor.terms) != 1:
            return None
        ((wanted, count),) = divisor.terms.items()
        found: dict[Product, int] = {}
        for product, factor in self.terms.items():
            powers = dict(product)
            for atom, power in wanted:
                powers[atom] = powers.get(atom, 0) - power
            if factor % count or any(power < 0 for power in powers.values()):
                return None
            rest = frozenset((atom, power) for atom, power in powers.items() if power)
            found[rest] = factor // count
        return Polynomial(found)

    def __add__(self, other: Number) -> Polynomial:
        found = dict(self.terms)
        for product, factor in Polynomial.of(other).terms.items():
            found[product] = found.get(product, 0) + factor
        return Polynomial({product: factor for product, factor in found.items() if factor})

    def __mul__(self, other: Number) -> Polynomial:
        found: dict[Product, int] = {}
        for one, count in self.terms.items():
            for another, more in Polynomial.of(other).terms.items():
                powers = dict(one)
                for atom, power in another:
                    powers[atom] = powers.get(atom, 0) + power
                product = frozenset(powers.items())
                found[product] = found.get(product, 0) + count * more
        return Polynomial({product: factor for product, factor in found.items() if factor})

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Polynomial:
        return self * -1

    def __sub__(self, other: Number) -> Polynomial:
        return self + Polynomial.of(other) * -1

    def __rsub__(self, other: Number) -> Polynomial:
        return -self + other

    def __eq__(self, other: object) -> bool:
        if isinstance(other, bool) or not isinstance(other, int | Polynomial):
            return NotImplemented
        return self.terms == Polynomial.of(other).terms

    def __hash__(self) -> int:
        number = self.number
        return hash(frozenset(self.terms.items()) if number is None else number)

    def words(self, name_of: Callable[[Atom], str]) -> str:
        """It as text, in which atoms have these names."""
        shown = sorted(
            (_product(product, name_of), factor) for product, factor in self.terms.items()
        )
        parts = []
        for name, factor in sorted(shown, key=lambda part: not part[0]):
            size = "" if abs(factor) == 1 and name else str(abs(factor))
            sign = "-" if factor < 0 else "+"
            parts.append(f"{sign} {'*'.join(filter(None, (size, name)))}")
        text = " ".join(parts).removeprefix("+ ") or "0"
        return f"-{text[2:]}" if text.startswith("- ") else text

    def __str__(self) -> str:
        return self.words(lambda atom: atom.name)


def _product(product: Product, name_of: Callable[[Atom], str]) -> str:
    return "*".join(
        sorted(name_of(atom) + ("" if power == 1 else f"**{power}") for atom, power in product)
    )
