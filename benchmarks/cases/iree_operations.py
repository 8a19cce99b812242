"""Operations of PyTorch that front ends leave to IREE, with inputs that show what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import onnx
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

f64, f32, f16, bf16 = torch.float64, torch.float32, torch.float16, torch.bfloat16
i64, i32, i16, i8, u8 = torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8
FLOATS, INTEGERS = (f32, f16, bf16), (i64, i32, i8)
_inf, _nan = float("inf"), float("nan")
_EDGES = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.7, -3.7, 0.001, -0.001, 10.0),
    *(-10.0, 20.0, -20.0, 88.0, -88.0, 100.0, -100.0, 6e4, -6e4, _inf, -_inf, _nan),
)
_TYPE_NAMES = {f64: "f64", f32: "f32", f16: "f16", bf16: "bf16", i64: "i64", i32: "i32"} | {
    i16: "i16",
    i8: "i8",
    u8: "u8",
    torch.bool: "bool",
}


@dataclass(frozen=True)
class Case:
    """An operation and its arguments."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[torch.Tensor, ...]
    model: onnx.ModelProto | None = None
    """The operation as a model of ONNX, whose first input and output are the passenger's."""


def random(*shape: int, dtype: torch.dtype = f32, low: int = -20, high: int = 20) -> torch.Tensor:
    """Random numbers: normal ones of floats, else from a range."""
    if dtype.is_floating_point:
        return torch.randn(*shape).to(dtype)
    if dtype == torch.bool:
        return torch.rand(*shape) > 0.5
    return torch.randint(0 if dtype == u8 else low, high, shape, dtype=dtype)


def edges(dtype: torch.dtype) -> torch.Tensor:
    """Every edge value there is of a float type, and of an integer one."""
    if dtype.is_floating_point:
        return torch.tensor(_EDGES).to(dtype)
    about = torch.iinfo(dtype)
    numbers = [about.min, about.max, about.min + 1, about.max - 1, 0, 1, 2, 3, 5, 7, 100]
    return torch.tensor(
        [*numbers, *(-item for item in (1, 2, 3, 5, 7) if dtype != u8)], dtype=dtype
    )


def _case(name: str, function: Callable[..., Any], *arguments: torch.Tensor) -> Case:
    dtype = _TYPE_NAMES[arguments[0].dtype]
    return Case(f"{name} {dtype}", function, arguments)


def _elements() -> Iterator[Case]:
    functions = {
        name: getattr(torch, name)
        for name in (
            *("abs", "neg", "sign", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p"),
            *("sqrt", "rsqrt", "reciprocal", "sin", "cos", "tan", "asin", "acos", "atan"),
            *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "sigmoid"),
            *("floor", "ceil", "round", "trunc", "frac", "isnan", "isinf", "isfinite", "square"),
            *("relu", "nan_to_num", "logit"),
        )
    }
    functions |= {
        name: getattr(F, name)
        for name in (
            *("gelu", "silu", "softplus", "elu", "selu", "celu", "leaky_relu", "hardtanh", "mish"),
            *("hardswish", "hardsigmoid", "relu6", "logsigmoid", "softsign", "tanhshrink"),
        )
    }
    functions["gelu_tanh"] = lambda x: F.gelu(x, approximate="tanh")
    functions["clamp"] = lambda x: x.clamp(-1.25, 2)
    functions["clamp_min"] = lambda x: x.clamp(min=0.5)
    functions["logical_not"] = torch.logical_not
    functions["round_2"] = lambda x: torch.round(x, decimals=2)
    for power in (2, 3, 4, -1, -2, 0.5, -0.5, 1.7, 0):
        functions[f"pow_{power}"] = lambda x, power=power: x.pow(power)
    functions["2_pow_x"] = lambda x: torch.pow(2.0, x)
    for name, function in functions.items():
        for dtype in (*FLOATS, f64) if name in ("exp", "erf", "round", "tanh") else FLOATS:
            yield _case(name, function, edges(dtype))
            yield _case(f"{name} random", function, random(67, dtype=dtype) * 3)
    integers = {name: functions[name] for name in ("abs", "neg", "sign", "relu", "square", "pow_2")}
    integers |= {"pow_3": lambda x: x.pow(3), "bitwise_not": torch.bitwise_not}
    integers |= {"clamp": lambda x: x.clamp(-2, 5), "logical_not": torch.logical_not}
    integers |= {"exp": torch.exp, "sqrt": torch.sqrt, "div_2": lambda x: x / 2}
    integers |= {"floor_div_3": lambda x: x // 3, "floor_div_-3": lambda x: x // -3}
    integers |= {"mod_3": lambda x: x % 3, "mod_-3": lambda x: x % -3}
    integers |= {"fmod_3": lambda x: torch.fmod(x, 3), "rshift": lambda x: x >> 1}
    integers |= {"lshift": lambda x: x << 1}
    integers |= {"trunc_3": lambda x: torch.div(x, 3, rounding_mode="trunc")}
    for name, function in integers.items():
        for dtype in INTEGERS:
            yield _case(name, function, edges(dtype))


def _pairs() -> Iterator[Case]:
    functions: dict[str, Callable[..., Any]] = {
        name: getattr(torch, name)
        for name in (
            *("add", "sub", "mul", "div", "pow", "maximum", "minimum", "fmax", "fmin", "atan2"),
            *("remainder", "fmod", "floor_divide", "eq", "ne", "lt", "le", "gt", "ge"),
            *("logical_and", "logical_or", "logical_xor", "hypot", "xlogy"),
        )
    }
    functions["div_trunc"] = lambda x, y: torch.div(x, y, rounding_mode="trunc")
    functions["where"] = lambda x, y: torch.where(x > y, x, y)
    functions["lerp"] = lambda x, y: torch.lerp(x, y, 0.25)
    functions["rsub"] = lambda x, y: torch.rsub(x, y, alpha=2)
    for name, function in functions.items():
        for dtype in FLOATS:
            first, second = torch.meshgrid(edges(dtype), edges(dtype), indexing="ij")
            yield _case(name, function, first.contiguous(), second.contiguous())
    bits = ("bitwise_and", "bitwise_or", "bitwise_xor", "remainder", "fmod", "floor_divide")
    names = ("add", "sub", "mul", "div", "maximum", "minimum", "eq", "lt", "ge", "where", *bits)
    for name in (*names, "div_trunc"):
        function = functions.get(name) or getattr(torch, name)
        for dtype in INTEGERS:
            values = edges(dtype)
            if "div" in name or name in ("remainder", "fmod"):
                values = values[values != torch.iinfo(dtype).min]
            first, second = torch.meshgrid(values, values[values != 0], indexing="ij")
            yield _case(name, function, first.contiguous(), second.contiguous())
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        for dtype in INTEGERS:
            count = torch.arange(len(edges(dtype)), dtype=dtype) % 7
            yield _case(name, getattr(torch, name), edges(dtype), count)
    for first, second in ((i32, f32), (i64, f16), (i8, i32), (f16, f32), (torch.bool, f32)):
        for name in ("add", "mul", "eq", "lt"):
            label = f"{name} with {_TYPE_NAMES[second]}"
            operands = random(40, dtype=first), random(40, dtype=second)
            yield _case(label, functions[name], *operands)


def _casts() -> Iterator[Case]:
    for source in (*FLOATS, f64, *INTEGERS, i16, u8, torch.bool):
        values = random(9, dtype=source) if source == torch.bool else edges(source)
        for target in (*FLOATS, f64, *INTEGERS, i16, torch.bool):
            if source == target:
                continue
            name, cast = f"to {_TYPE_NAMES[target]}", lambda x, target=target: x.to(target)
            if source.is_floating_point and not target.is_floating_point and target != torch.bool:
                # Of what does not fit, C++ and so PyTorch have no rule.
                most = min(float(torch.iinfo(target).max), 6e4)
                values = values[values.abs() < most]
            yield _case(name, cast, values)
    ties = torch.tensor([0x3F808000, 0x3F818000, 0x3F807FFF, 0x3F808001], dtype=i32).view(f32)
    yield _case("to bf16 ties", lambda x: x.to(bf16), ties)
    yield _case(
        "to f16 ties", lambda x: x.to(f16), torch.tensor([2049.0, 2051.0, 65519.0, 65520.0])
    )


def _reductions() -> Iterator[Case]:
    names = ("sum", "mean", "amax", "amin", "prod", "argmax", "argmin", "var", "std", "logsumexp")
    functions = {name: getattr(torch, name) for name in names}
    functions |= {"cumsum": torch.cumsum, "cumprod": torch.cumprod, "max": torch.max}
    functions |= {"min": torch.min, "any": torch.any, "all": torch.all, "norm": torch.norm}
    functions["norm"] = lambda x, dim: torch.linalg.vector_norm(x, dim=dim)
    functions["norm_1"] = lambda x, dim: torch.linalg.vector_norm(x, ord=1, dim=dim)
    functions["norm_inf"] = lambda x, dim: torch.linalg.vector_norm(x, ord=_inf, dim=dim)
    functions["var_0"] = lambda x, dim: torch.var(x, dim=dim, correction=0)
    functions["cummax"] = lambda x, dim: torch.cummax(x, dim)[0]
    functions["count_nonzero"] = torch.count_nonzero
    of_floats = {"mean", "var", "std", "logsumexp", "norm", "norm_1", "norm_inf", "var_0"}
    for name, function in functions.items():
        for dtype in (*FLOATS, *INTEGERS, torch.bool):
            if not dtype.is_floating_point and name in of_floats:
                continue
            for shape, dim in (((3, 7, 5), 1), ((4, 65), -1), ((130, 3), 0)):
                x = random(*shape, dtype=dtype, low=-4, high=4)
                label = f"{name} {'x'.join(map(str, shape))} over {dim}"
                yield _case(label, lambda x, f=function, d=dim: f(x, dim=d), x)
        x = random(6, 9)
        x[1, 3], x[2, 5], x[3, 0], x[3, 4], x[4] = _nan, _inf, -_inf, _nan, -_inf
        yield _case(f"{name} with NaN and inf", lambda x, f=function: f(x, dim=-1), x)
        if name not in ("cumsum", "cumprod", "cummax", "logsumexp", "max", "min"):
            yield _case(
                f"{name} with NaN, no dim",
                lambda x, f=function: f(x, dim=(0, 1)) if "arg" not in str(f) else f(x),
                x,
            )
    for name in ("argmax", "argmin", "max", "min"):
        for dtype in (f32, i32, i64):
            ties = torch.tensor([[3, 9, 9, 1, 1], [2, 2, 2, 2, 2], [-5, -5, 0, 0, -5]], dtype=dtype)
            yield _case(f"{name} with ties", lambda x, n=name: getattr(torch, n)(x, dim=-1), ties)
    yield _case("max of all", torch.max, random(3, 33))
    yield _case("sum of i32", torch.sum, random(3, 33, dtype=i32))
    yield _case("mean of all", torch.mean, random(33, 33, dtype=f16))
    yield _case("sum long", lambda x: x.sum(-1), random(2, 5000, dtype=bf16))
    yield _case("sum long", lambda x: x.sum(-1), random(2, 5000, dtype=f16))


def _rows() -> Iterator[Case]:
    for dtype in FLOATS:
        for size in (1, 7, 64, 129, 1000):
            x = random(3, size, dtype=dtype) * 5
            weight, bias = random(size, dtype=dtype), random(size, dtype=dtype)
            yield _case(f"softmax {size}", lambda x: F.softmax(x, -1), x)
            yield _case(f"log_softmax {size}", lambda x: F.log_softmax(x, -1), x)
            yield _case(f"softmax {size} over 0", lambda x: F.softmax(x, 0), x)
            norm = lambda x, w, b, size=size: F.layer_norm(x, (size,), w, b)  # noqa: E731
            yield _case(f"layer_norm {size}", norm, x, weight, bias)
            yield _case(
                f"rms_norm {size}", lambda x, w, size=size: F.rms_norm(x, (size,), w), x, weight
            )
            yield _case(f"normalize {size}", lambda x: F.normalize(x, dim=-1), x)
        x, w, b = random(2, 12, 5, 7, dtype=dtype), random(12, dtype=dtype), random(12, dtype=dtype)
        var = random(12, dtype=dtype).abs() + 0.5
        yield _case(
            "batch_norm", lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b), x, b, var, w, b
        )
        for groups in (1, 3, 4, 12):
            yield _case(
                f"group_norm {groups}", lambda x, w, b, g=groups: F.group_norm(x, g, w, b), x, w, b
            )
        yield _case("instance_norm", lambda x: F.instance_norm(x), x)
        if dtype == f32:
            yield _case("local_response_norm", lambda x: F.local_response_norm(x, 3), x)
        yield _case("glu", lambda x: F.glu(x, 1), x)
    for name, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
        x = random(5, 9)
        x[1, 3], x[2, 5], x[3, 0], x[4] = _nan, _inf, -_inf, -_inf
        yield _case(f"{name} with NaN and inf", lambda x, f=function: f(x, dim=-1), x)
        yield _case(f"{name} of large", lambda x, f=function: f(x, dim=-1), random(4, 9) * 1e4)
    low = torch.full((4, 9), torch.finfo(f32).min)
    low[1, :3] = 0
    yield _case("softmax of finfo.min", lambda x: F.softmax(x, -1), low)


def _attentions() -> Iterator[Case]:
    sdpa = F.scaled_dot_product_attention
    for dtype in FLOATS:
        for head in (8, 32, 64, 80, 96, 128, 129, 144, 160, 192, 256, 320, 512):
            for queries in (1, 5, 33):
                if dtype != f32 and head not in (64, 160, 256):
                    continue
                q = random(1, 2, queries, head, dtype=dtype)
                k, v = (random(1, 2, 37, head, dtype=dtype) for _ in range(2))
                yield _case(f"sdpa {head}, {queries} queries", sdpa, q, k, v)
        for head in (64, 160):
            q, k, v = (random(1, 2, 19, head, dtype=dtype) for _ in range(3))
            mask = torch.rand(1, 1, 19, 19) > 0.5
            mask[..., 3, :] = False
            call = lambda q, k, v, m: sdpa(q, k, v, attn_mask=m)  # noqa: E731
            yield _case(f"sdpa {head} bool mask", call, q, k, v, mask)
            full = torch.zeros(1, 2, 19, 19).masked_fill(~mask, -_inf).to(dtype)
            yield _case(f"sdpa {head} -inf mask", call, q, k, v, full)
            full = torch.zeros(1, 2, 19, 19).to(dtype)
            full = full.masked_fill(~mask, torch.finfo(dtype).min)
            yield _case(f"sdpa {head} finfo.min mask", call, q, k, v, full)
            yield _case(f"sdpa {head} real mask", call, q, k, v, random(1, 2, 19, 19, dtype=dtype))
            causal = lambda q, k, v: sdpa(q, k, v, is_causal=True)  # noqa: E731
            yield _case(f"sdpa {head} causal", causal, q, k, v)
            yield _case(f"sdpa {head} scale", lambda q, k, v: sdpa(q, k, v, scale=0.3), q, k, v)
            gqa = lambda q, k, v: sdpa(q, k, v, enable_gqa=True)  # noqa: E731
            yield _case(f"sdpa {head} GQA", gqa, random(1, 4, 19, head, dtype=dtype), k, v)
            yield _case(f"sdpa {head} narrow v", sdpa, q, k, v[..., :24].contiguous())
            yield _case(f"sdpa {head} rank 3", sdpa, q[0], k[0], v[0])


def _of_onnx() -> Iterator[Case]:
    """ONNX's Attention, of opset 23, whose results are those of PyTorch's."""
    sdpa = F.scaled_dot_product_attention
    forms: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "plain": ({}, {}),
        "causal": ({"is_causal": 1}, {"is_causal": True}),
        "scale": ({"scale": 0.3}, {"scale": 0.3}),
    }
    for head in (64, 160):
        for name, (attributes, options) in forms.items():
            q, k, v = (random(1, 2, 19, head) for _ in range(3))
            call = lambda q, k, v, o=options: sdpa(q, k, v, **o)  # noqa: E731
            model = _attention(attributes, q.shape)
            yield Case(f"ONNX Attention {head} {name} f32", call, (q, k, v), model)


def _attention(attributes: dict[str, Any], shape: torch.Size) -> onnx.ModelProto:
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("simple_mul", ["p", "p"], ["product"], domain="sweep"),
        helper.make_node("Attention", ["q", "k", "v"], ["y"], **attributes),
    ]
    infos = [helper.make_tensor_value_info(item, kind, list(shape)) for item in "qkvy"]
    passengers = [helper.make_tensor_value_info(item, kind, [4]) for item in ("p", "product")]
    inputs, outputs = [passengers[0], *infos[:3]], [passengers[1], infos[3]]
    graph = helper.make_graph(nodes, "main", inputs, outputs)
    versions = [helper.make_opsetid("", 23), helper.make_opsetid("sweep", 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=11)


def _convolutions() -> Iterator[Case]:
    for dtype in (f32, f16, bf16):
        forms = {
            "3x3": (8, 12, {"padding": 1}),
            "stride 2": (8, 12, {"stride": 2, "padding": 1}),
            "dilated": (8, 12, {"dilation": 2}),
            "groups 4": (8, 12, {"groups": 4}),
            "depthwise": (8, 8, {"groups": 8, "padding": 1}),
            "depthwise x2": (8, 16, {"groups": 8, "stride": 2}),
            "same": (8, 12, {"padding": "same"}),
            "odd": (3, 5, {"stride": (2, 1), "padding": (0, 2)}),
        }
        for rank, function in ((1, F.conv1d), (2, F.conv2d), (3, F.conv3d)):
            for name, (inside, out, options) in forms.items():
                if name == "odd" and rank != 2:
                    continue
                x = random(2, inside, *[9, 11, 7][:rank], dtype=dtype)
                groups = options.get("groups", 1)
                weight = random(out, inside // int(str(groups)), *[3] * rank, dtype=dtype)
                conv = lambda x, w, b, f=function, o=options: f(x, w, b, **o)  # noqa: E731
                yield _case(f"conv{rank}d {name}", conv, x, weight, random(out, dtype=dtype))
        for rank, function in ((1, F.conv_transpose1d), (2, F.conv_transpose2d)):
            for options in (
                {},
                {"stride": 2, "padding": 1},
                {"stride": 2, "output_padding": 1},
                {"groups": 2},
                {"dilation": 2},
            ):
                x = random(2, 8, *[9, 6][:rank], dtype=dtype)
                weight = random(8, 6, *[3] * rank, dtype=dtype)
                conv = lambda x, w, f=function, o=options: f(x, w, **o)  # noqa: E731
                label = " ".join(f"{key} {value}" for key, value in options.items())
                yield _case(f"conv_transpose{rank}d {label}", conv, x, weight)


def _pools() -> Iterator[Case]:
    for dtype in (f32, f16):
        x = random(2, 3, 12, 9, dtype=dtype) - 3
        pools: dict[str, Callable[..., Any]] = {
            "max_pool2d": lambda x: F.max_pool2d(x, 2),
            "max_pool2d padded": lambda x: F.max_pool2d(x, 3, 2, 1),
            "max_pool2d ceil": lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True),
            "max_pool2d dilated": lambda x: F.max_pool2d(x, 2, 1, dilation=2),
            "max_pool2d indices": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
            "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
            "avg_pool2d padded": lambda x: F.avg_pool2d(x, 3, 2, 1),
            "avg_pool2d without padding": lambda x: F.avg_pool2d(x, 3, 2, 1, False, False),
            "avg_pool2d ceil": lambda x: F.avg_pool2d(x, 2, 2, ceil_mode=True),
            "adaptive_avg_pool2d 1": lambda x: F.adaptive_avg_pool2d(x, 1),
            "adaptive_avg_pool2d 4x3": lambda x: F.adaptive_avg_pool2d(x, (4, 3)),
            "adaptive_avg_pool2d 5x2": lambda x: F.adaptive_avg_pool2d(x, (5, 2)),
            "adaptive_max_pool2d 4x3": lambda x: F.adaptive_max_pool2d(x, (4, 3)),
            "max_pool1d": lambda x: F.max_pool1d(x[0], 3, 2, 1),
            "avg_pool1d": lambda x: F.avg_pool1d(x[0], 3, 2, 1),
            "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x[0], 4),
            "max_pool3d": lambda x: F.max_pool3d(x, 2, 2, (1, 1, 1)),
            "nearest": lambda x: F.interpolate(x, scale_factor=2),
            "nearest size": lambda x: F.interpolate(x, size=(7, 20)),
            "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
            "bilinear size": lambda x: F.interpolate(x, size=(7, 20), mode="bilinear"),
            "bilinear corners": lambda x: F.interpolate(
                x, size=(7, 20), mode="bilinear", align_corners=True
            ),
            "bicubic": lambda x: F.interpolate(x, size=(7, 20), mode="bicubic"),
            "pixel_shuffle": lambda x: F.pixel_shuffle(x.reshape(2, 4, 9, 9), 2),
            "pixel_unshuffle": lambda x: F.pixel_unshuffle(x[..., :8], 2),
            "unfold": lambda x: F.unfold(x, 3, padding=1),
        }
        for name, function in pools.items():
            yield _case(name, function, x)
    x = random(1, 1, 4, 4)
    x[0, 0, 1, 1], x[0, 0, 2:, 2:] = _nan, -_inf
    yield _case("max_pool2d with NaN", lambda x: F.max_pool2d(x, 2), x)
    grid = torch.rand(2, 5, 4, 2) * 2.4 - 1.2
    yield _case(
        "grid_sample",
        lambda x, g: F.grid_sample(x, g, align_corners=False),
        random(2, 3, 6, 7),
        grid,
    )


def _places() -> Iterator[Case]:
    at = torch.tensor([3, 0, 0, 5, 2])
    for dtype in (f32, f16, bf16, i64, i32, i8, torch.bool):
        x, new = random(6, 7, dtype=dtype), random(5, 7, dtype=dtype)
        yield _case("index_select", lambda x, i: x.index_select(0, i), x, at)
        yield _case("index", lambda x, i: x[i], x, at)
        yield _case("index last", lambda x, i: x[:, i], x, at)
        yield _case("index two", lambda x, i: x[i, i.flip(0)], x, at)
        yield _case("index negative", lambda x, i: x[i - 6], x, at)
        yield _case("gather", lambda x, i: x.gather(0, i[:, None].expand(5, 7)), x, at)
        yield _case("gather last", lambda x, i: x.gather(1, i[None].expand(6, 5)), x, at)
        yield _case("embedding", lambda x, i: F.embedding(i, x), x, at)
        yield _case("take_along_dim", lambda x, i: x.take_along_dim(i[:, None], 0), x, at)
        once = torch.tensor([3, 0, 1, 5, 2])
        yield _case("index_put", lambda x, i, n: x.index_put((i,), n), x, once, new)
        yield _case("index_copy", lambda x, i, n: x.index_copy(0, i, n), x, once, new)
        yield _case(
            "scatter", lambda x, i, n: x.scatter(0, i[:, None].expand(5, 7), n), x, once, new
        )
        yield _case(
            "scatter last",
            lambda x, i, n: x.scatter(1, i[None].expand(5, 5), n[:, :5].contiguous()),
            x,
            once,
            new,
        )
        yield _case("slice_scatter", lambda x, n: x.slice_scatter(n, 0, 1, 6), x, new)
        yield _case("select_scatter", lambda x, n: x.select_scatter(n[0], 0, 2), x, new)
        yield _case(
            "masked_fill", lambda x, m: x.masked_fill(m, 1), x, random(6, 7, dtype=torch.bool)
        )
        yield _case("one_hot", lambda i: F.one_hot(i, 6), at)
        if dtype != torch.bool:
            yield _case(
                "scatter_add",
                lambda x, i, n: x.scatter_add(0, i[:, None].expand(5, 7), n),
                x,
                at,
                new,
            )
            yield _case("index_add", lambda x, i, n: x.index_add(0, i, n), x, at, new)
            put = lambda x, i, n: x.index_put((i,), n, accumulate=True)  # noqa: E731
            yield _case("index_put accumulate", put, x, at, new)
            for how in ("sum", "amax", "amin", "prod", "mean"):
                if dtype in (f32, i64):

                    def reduce(x: Any, i: Any, n: Any, how: str = how) -> Any:
                        return x.scatter_reduce(0, i[:, None].expand(5, 7), n, how)

                    yield _case(f"scatter_reduce {how}", reduce, x, at, new)
    yield _case("bincount", lambda i: torch.bincount(i, minlength=6), at)
    yield _case("nonzero", lambda x: x.nonzero(), random(4, 5, dtype=torch.bool))
    yield _case("bucketize", torch.bucketize, random(9), torch.tensor([-1.0, 0.0, 0.5]))
    yield _case(
        "searchsorted",
        lambda x, s: torch.searchsorted(s, x),
        random(9),
        torch.tensor([-1.0, 0.0, 0.5]),
    )


def _orders() -> Iterator[Case]:
    for dtype in (f32, f16, bf16, i64, i32, i8):
        x = torch.stack([torch.randperm(33) - 16 for _ in range(4)]).to(dtype)
        yield _case("sort", lambda x: torch.sort(x, -1), x)
        yield _case("sort descending", lambda x: torch.sort(x, -1, descending=True), x)
        yield _case("sort over 0", lambda x: torch.sort(x, 0)[0], x)
        yield _case("argsort", lambda x: torch.argsort(x, -1), x)
        yield _case("topk", lambda x: torch.topk(x, 5), x)
        yield _case("topk smallest", lambda x: torch.topk(x, 5, largest=False), x)
        yield _case("topk over 0", lambda x: torch.topk(x, 2, dim=0)[0], x)
        yield _case("kthvalue", lambda x: torch.kthvalue(x, 3)[0], x)
    ties = torch.tensor([[2.0, 1.0, 2.0, 1.0, 2.0, 0.0]])
    yield _case("sort stable", lambda x: torch.sort(x, stable=True), ties)
    yield _case(
        "sort stable descending", lambda x: torch.sort(x, stable=True, descending=True), ties
    )
    special = torch.tensor([[1.0, _nan, -_inf, 3.0, _inf, -2.0]])
    yield _case("sort with NaN", lambda x: torch.sort(x)[0], special)
    yield _case("topk with NaN", lambda x: torch.topk(x, 3)[0], special)
    yield _case("median", lambda x: torch.median(x, -1)[0], random(3, 7))


def _products() -> Iterator[Case]:
    for dtype in (f32, f16, bf16, f64, i64, i32, i8):
        a, b = random(2, 9, 33, dtype=dtype), random(2, 33, 17, dtype=dtype)
        yield _case("bmm", torch.bmm, a, b)
        yield _case("mm", lambda a, b: a[0] @ b[0], a, b)
        yield _case("mv", lambda a, b: a[0] @ b[0, :, 0], a, b)
        yield _case("dot", lambda a, b: a[0, 0].dot(b[0, :, 0]), a, b)
        yield _case("einsum", lambda a, b: torch.einsum("bij,bjk->bki", a, b), a, b)
        if dtype.is_floating_point:
            weight, bias = random(20, 33, dtype=dtype), random(20, dtype=dtype)
            yield _case("linear", F.linear, a, weight, bias)
            yield _case(
                "addmm",
                lambda x, w, b: torch.addmm(b, x[0], w.T, beta=0.5, alpha=2),
                a,
                weight,
                bias,
            )
            yield _case(
                "mm long",
                lambda a, b: a @ b,
                random(3, 1030, dtype=dtype),
                random(1030, 5, dtype=dtype),
            )
            yield _case("cdist", torch.cdist, random(5, 8, dtype=f32), random(6, 8, dtype=f32))
    x = random(3, 4)
    x[1, 2] = _inf
    yield _case("mm with inf", lambda a, b: a @ b, x, random(4, 5))


def _shapes() -> Iterator[Case]:
    functions: dict[str, Callable[..., Any]] = {
        "pad": lambda x: F.pad(x, (1, 2, 0, 3), value=1),
        "pad reflect": lambda x: F.pad(x, (1, 2), mode="reflect"),
        "pad replicate": lambda x: F.pad(x, (1, 2), mode="replicate"),
        "pad circular": lambda x: F.pad(x, (1, 2), mode="circular"),
        "pad negative": lambda x: F.pad(x, (-1, 2)),
        "roll": lambda x: x.roll(2, -1),
        "roll two": lambda x: x.roll((1, -2), (0, 1)),
        "flip": lambda x: x.flip(-1),
        "tril": torch.tril,
        "triu": lambda x: x.triu(1),
        "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
        "repeat": lambda x: x.repeat(2, 1, 3),
        "unfold": lambda x: x.unfold(-1, 3, 2),
        "stack": lambda x: torch.stack([x, x + x], 1),
        "cat": lambda x: torch.cat([x, x[:, :1]], 1),
        "diagonal": lambda x: x.diagonal(dim1=0, dim2=1),
        "diag_embed": torch.diag_embed,
        "rot90": lambda x: x.rot90(1, (0, 1)),
        "slice steps": lambda x: x[:, 1::2],
        "chunk": lambda x: torch.cat(x.chunk(3, 1)[::-1], 1),
        "transpose": lambda x: x.transpose(0, 2).contiguous(),
        "meshgrid": lambda x: torch.meshgrid(x[0, 0], x[0, 1], indexing="ij")[1],
    }
    for name, function in functions.items():
        for dtype in (f32, f16, i64, i8, torch.bool):
            yield _case(name, function, random(3, 6, 7, dtype=dtype))
    yield _case("arange f32", lambda x: torch.arange(0, 1, 0.1) + x, random(10))
    yield _case("linspace", lambda x: torch.linspace(-1, 1, 11) + x, random(11))
    yield _case("diff", lambda x: x.diff(), random(3, 9, dtype=i64))
    yield _case("var_mean", lambda x: torch.var_mean(x, -1), random(3, 9) + 1000)
    yield _case("cross", lambda x, y: torch.linalg.cross(x, y), random(4, 3), random(4, 3))
    yield _case("cosine_similarity", F.cosine_similarity, random(4, 9), random(4, 9))
    yield _case("mse_loss", F.mse_loss, random(4, 9), random(4, 9))
    yield _case("cross_entropy", F.cross_entropy, random(4, 9), torch.tensor([1, 0, 8, 3]))
    yield _case("smooth_l1_loss", F.smooth_l1_loss, random(4, 9), random(4, 9))
    yield _case(
        "binary_cross_entropy_with_logits",
        F.binary_cross_entropy_with_logits,
        random(4, 9),
        torch.rand(4, 9),
    )


GROUPS: dict[str, Callable[[], Iterator[Case]]] = {
    "elements": _elements,
    "pairs": _pairs,
    "casts": _casts,
    "reductions": _reductions,
    "rows": _rows,
    "attentions": _attentions,
    "onnx": _of_onnx,
    "convolutions": _convolutions,
    "pools": _pools,
    "places": _places,
    "orders": _orders,
    "products": _products,
    "shapes": _shapes,
}


def cases(groups: Iterable[str] | None = None) -> Iterator[Case]:
    """The cases of some groups, or of every one."""
    for name in groups or GROUPS:
        yield from GROUPS[name]()
