"""The weights of models that are compiled on one machine and run on another.

An archive of weights is large. Where a machine has the model itself, or makes it anew, the archive
is written there: what is carried is which tensor of the model each weight is.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from custom_dispatch.parameters import Parameter, Parameters

_LAST = "channels last"
"""How the weights of convolutions may be transposed."""
_MOST_CARRIED = 1 << 20
"""Bytes of a weight that is computed of the model's, such as a scale in another type."""


def origins(parameters: Parameters, module: torch.nn.Module) -> list[dict[str, Any]]:
    """For each weight of a compiled model the tensor that it is, as it is or transposed, or a part.

    A part is rows of a matrix, such as queries' of a product for queries, keys and values. Small
    ones that are none of the model's, but computed of them, are carried themselves.

    Raises
    ------
    RuntimeError
        A large one is none of the model's.
    """
    known: dict[str, tuple[str, bool | str]] = {}
    for name, tensor in _tensors(module).items():
        for transposed in (False, True, _LAST)[: tensor.dim()]:
            digest = hashlib.sha256(_content(tensor, transposed)).hexdigest()
            known.setdefault(digest, (name, transposed))
    rows: dict[bytes, tuple[str, bool, int]] = {}
    found = []
    for item in parameters.entries:
        said = {
            "name": item.name,
            "dtype": item.dtype,
            "shape": item.shape,
            "sha256": item.sha256,
        }
        if item.sha256 in known:
            said["of"], said["transposed"] = known[item.sha256]
        elif item.size_bytes <= _MOST_CARRIED:
            said["content"] = base64.b64encode(item.read()).decode()
        else:
            rows = rows or _rows(module)
            parts = [
                rows.get(each) for each in _digests(np.frombuffer(item.read(), np.uint8), item)
            ]
            if None in parts or len({part[:2] for part in parts if part}) != 1:
                raise RuntimeError(f"the weight {item.name} is no tensor of the model")
            said["of"], said["transposed"] = parts[0][:2]
            said["rows"] = [part[2] for part in parts]
        found.append(said)
    return found


def write(file: Path, said: list[dict[str, Any]], module: torch.nn.Module) -> None:
    """Write the archive, given what `origins` found."""
    tensors = _tensors(module)
    entries = []
    for item in said:
        if "content" in item:
            content = np.frombuffer(base64.b64decode(item["content"]), np.uint8)
        else:
            tensor = tensors[item["of"]].detach().cpu()
            if "rows" in item:
                tensor = (tensor.T if item["transposed"] else tensor)[item["rows"]]
            content = _content(tensor, item["transposed"] if "rows" not in item else False)
        entries.append(
            Parameter(
                item["name"],
                item["dtype"],
                tuple(item["shape"]),
                content.nbytes,
                read=lambda data=content: memoryview(data),
                sha256=item["sha256"],
            )
        )
    with file.open("wb") as opened:
        Parameters(tuple(entries)).write_to(opened)


def _rows(module: torch.nn.Module) -> dict[bytes, tuple[str, bool, int]]:
    """Where the rows of all matrices and of their transposes are, by digest."""
    found: dict[bytes, tuple[str, bool, int]] = {}
    for name, tensor in _tensors(module).items():
        for transposed in (False, True) if tensor.dim() == 2 else ():
            turned = tensor.T if transposed else tensor
            for at, digest in enumerate(_digests(_content(tensor, transposed), turned)):
                found.setdefault(digest, (name, transposed, at))
    return found


def _digests(content: np.ndarray[Any, Any], of: Any) -> list[bytes]:
    """Of the rows of a matrix."""
    rows = content.reshape(of.shape[0], -1)
    return [hashlib.sha256(row.tobytes()).digest() for row in rows]


def _tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """All of them by name; `state_dict` leaves out buffers that are not saved."""
    return dict(module.named_buffers()) | dict(module.state_dict())


def archived(file: Path) -> dict[str, torch.Tensor]:
    """The tensors of an archive."""
    from iree import runtime as rt

    index = rt.ParameterIndex()
    index.load(str(file))
    found = {}
    for name, entry in index.items():
        said = json.loads(bytes(entry.metadata).partition(b":")[2])
        array = np.frombuffer(entry.file_view, np.dtype(said["dtype"])).reshape(said["shape"])
        found[str(name)] = torch.from_numpy(array.copy())
    return found


def _content(tensor: torch.Tensor, transposed: bool | str) -> np.ndarray[Any, Any]:
    """A tensor's bytes."""
    turned = tensor.detach()
    if transposed == _LAST:
        turned = turned.movedim(1, -1)
    elif transposed and tensor.dim() > 1:
        turned = turned.T
    bytes_: np.ndarray[Any, Any] = turned.contiguous().reshape(-1).view(torch.uint8).numpy()
    return bytes_
