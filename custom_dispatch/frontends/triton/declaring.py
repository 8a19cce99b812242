"""Triton functions as kernels: `cd.triton.kernel` and `cd.triton.autotuned`."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from triton.runtime.autotuner import Autotuner, Config, Heuristics
from triton.runtime.jit import JITFunction

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.frontends.triton.compiling import Form, constant_texts
from custom_dispatch.frontends.triton.specialising import is_multiple, multiples
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.consistency import in_order
from custom_dispatch.kernel.expr import Condition, Constant
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import MAX_NAME_LENGTH, listed, shown
from custom_dispatch.kernel.operand import Buffer, Operand, Scalar

WARPS = 4
"""Of a launch that does not say how many."""
_FLOATS = {"f16": "fp16", "f32": "fp32", "f64": "fp64", "bf16": "bf16"}
_FLOATS |= {"f8E4M3FN": "fp8e4nv", "f8E5M2": "fp8e5"}
_INTEGERS = {f"{sign}{bits}": f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64)}
_TYPES = {**_FLOATS, **_INTEGERS, "bool": "i1"}
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """A launch of a Triton function, as it is declared."""

    name: str
    function: Any
    operands: Sequence[Operand]
    constants: Mapping[str, Any]
    options: Mapping[str, Any]
    """Triton's own: num_warps, num_stages, ..."""
    rest: Mapping[str, Any]
    """Keywords of `cd.Kernel`."""

    def kernels(self, grid: Any) -> list[Kernel]:
        """A kernel for each combination of facts, that of most facts first.

        `grid`: as of a kernel; or a function of the constants that returns one.
        """
        given = {key: getattr(value, "value", value) for key, value in self.constants.items()}
        fn = self._plain()
        operands = self._ordered(fn, given)
        requires = tuple(self.rest.get("requires", ()))
        looked_at = [
            item.value
            for item in operands
            if isinstance(item, Scalar) and item.value is not None and _is_looked_at(fn, item.name)
        ]
        sizes = grid(given) if callable(grid) else grid
        made = []
        for more in multiples(looked_at, requires):
            form = self._form(fn, operands, given, (*requires, *more))
            constants = {each for each, kind in form.types if kind == "constexpr"}
            made.append(
                Kernel(
                    _named(self.name, more),
                    operands=[item for item in operands if item.name not in constants],
                    block=32 * int(self.options.get("num_warps") or WARPS),
                    grid=sizes,
                    producer=form,
                    **{**self.rest, "requires": (*requires, *more)},
                )
            )
        return [made[0].with_launch(name=self.name)] if len(made) == 1 else made

    def configured(self, config: Config, grid: Any) -> list[Kernel]:
        """The kernels of one of `@triton.autotune`'s configurations."""
        if config.pre_hook is not None:
            raise DeclarationError(
                f"Choice `{self.name}`: the configuration {config} has a pre_hook.",
                expected="configurations without: a module runs no Python before a launch",
                next_step="do what it does in the model, or in the kernel.",
            )
        options = {each: getattr(config, each, None) for each in _OPTIONS}
        parts = [f"{key}{value}" for key, value in config.kwargs.items()]
        parts += [f"w{config.num_warps}", f"s{config.num_stages}"]
        name = "_".join([self.name, *(re.sub(r"\W", "_", each, flags=re.ASCII) for each in parts)])
        constants = {**self.constants, **config.kwargs}
        one = Launch(name, self.function, self.operands, constants, options, self.rest)
        return one.kernels(grid)

    def _plain(self) -> JITFunction[Any]:
        """The function itself, within what chooses its constants."""
        function = self.function
        while isinstance(function, Autotuner | Heuristics):
            chosen = function.values if isinstance(function, Heuristics) else {}
            missing = sorted({*chosen} - {*self.constants})
            if missing:
                raise DeclarationError(
                    f"Kernel `{self.name}`: {listed(missing)} would be computed by "
                    "@triton.heuristics in each launch.",
                    expected="constants that are known when the kernel is declared",
                    next_step=f"give them: constexprs={{{missing[0]!r}: ...}}.",
                )
            function = function.fn
        if not isinstance(function, JITFunction) or function.is_gluon():
            raise DeclarationError(
                f"{shown(function)} is not a Triton function.",
                expected="a function with @triton.jit",
                next_step="name the function without launching it.",
            )
        return function

    def _ordered(self, fn: JITFunction[Any], constants: Mapping[str, Any]) -> list[Buffer | Scalar]:
        """The operands in the order of the function's parameters; each is there once."""
        empty = inspect.Parameter.empty
        parameters = {each.name: each.default is empty for each in fn.params}
        found = in_order(self.name, self.operands, parameters, constants, fn.__name__, "constexprs")
        constexprs = {each.name for each in fn.params if each.is_constexpr}
        for name in (item.name for item in found if item.name in constexprs):
            raise DeclarationError(
                f"Kernel `{self.name}`: the declaration does not fit `{fn.__name__}`: `{name}` is "
                "a tl.constexpr.",
                expected="an operand for each parameter that is none",
                next_step=f"give its value: constexprs={{{name!r}: ...}}.",
            )
        return found

    def _form(
        self,
        fn: JITFunction[Any],
        operands: Sequence[Buffer | Scalar],
        constants: Mapping[str, Any],
        facts: Sequence[Condition],
    ) -> Form:
        values = {each.name: each.default for each in fn.params} | dict(constants)
        types = dict.fromkeys(fn.arg_names, "constexpr")
        divisible = []
        for item in operands:
            parameter = fn.params[fn.arg_names.index(item.name)]
            kind = _TYPES[item.dtype.name]
            value = item.value if isinstance(item, Scalar) else None
            is_one = isinstance(value, Constant) and value.value == 1
            if is_one and not parameter.do_not_specialize:
                values[item.name] = 1  # Triton makes it a constant
                continue
            types[item.name] = f"*{kind}" if isinstance(item, Buffer) else kind
            values.pop(item.name)
            is_divisible = value is not None and is_multiple(value, facts)
            if (is_divisible or isinstance(item, Buffer)) and _is_looked_at(fn, item.name):
                divisible.append(item.name)
        return Form(
            function=fn,
            title=fn.__name__,
            source=fn.cache_key,
            types=tuple(types.items()),
            constants=constant_texts(values),
            values=tuple(values.items()),
            divisible=tuple(divisible),
            options=tuple(sorted((k, v) for k, v in self.options.items() if v is not None)),
        )


def of_configs(launch: Launch, pairs: Iterable[tuple[Config, Any]], tuning: Any = None) -> Choice:
    """A choice over configurations, each with its grid."""
    kernels = [kernel for config, grid in pairs for kernel in launch.configured(config, grid)]
    return Choice(launch.name, kernels, tuning=tuning)


def of_launch(launch: Launch, grid: Any) -> Kernel | Choice:
    """A kernel, or a choice where facts that hold for some sizes alone lead to other code."""
    kernels = launch.kernels(grid)
    return kernels[0] if len(kernels) == 1 else Choice(launch.name, kernels)


def check_configs(name: str, function: Any, configs: Sequence[Any]) -> Sequence[Config]:
    """The configurations that are given, or else the function's own."""
    found = configs or (function.configs if isinstance(function, Autotuner) else ())
    if found and all(isinstance(each, Config) for each in found):
        return found
    raise DeclarationError(
        f"Choice `{name}`: its configurations are {shown(list(configs))}.",
        expected="triton.Config objects, or a function with @triton.autotune",
        next_step='write cd.triton.autotuned(fn, triton.Config({"BLOCK": 256}), ...).',
    )


def name_of(function: Any) -> str:
    """The name of a Triton function, within what chooses its constants; or of what is none."""
    while isinstance(function, Autotuner | Heuristics):
        function = function.fn
    return str(getattr(function, "__name__", "kernel"))


def _is_looked_at(fn: JITFunction[Any], name: str) -> bool:
    """Whether Triton would ask whether an argument is a multiple of 16."""
    parameter = fn.params[fn.arg_names.index(name)]
    return not (parameter.do_not_specialize or parameter.do_not_specialize_on_alignment)


def _named(name: str, conditions: Sequence[Condition]) -> str:
    """A form's name: after what it requires to be a multiple of 16."""
    parts = [re.sub(r"\W+", "_", str(item).partition(" %")[0]).strip("_") for item in conditions]
    return f"{name}_{'_'.join(['16', *parts]) if parts else 'any'}"[:MAX_NAME_LENGTH]
