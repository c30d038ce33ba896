"""Sessions of onnxruntime, and weights of 8 bits in the form that this processor multiplies fastest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

CPU = ("CPUExecutionProvider",)
# What Linux calls a dot product of unsigned and signed bytes whose sums have 32 bits, so that none saturates.
_DOT_PRODUCTS = {"avx512_vnni", "avx_vnni"}
_MIDDLE = 128
# Places of MatMulInteger's weights and of their zero point among its inputs.
_WEIGHTS, _ZERO_POINT = 1, 3


def open_session(file: Path, *, threads: int, quantised: bool, providers: Sequence[str] = CPU) -> Any:
    """A session over a network's file; onnxruntime's own errors where it cannot be loaded.

    `quantised`: its weights are unsigned bytes. Files hold unsigned ones, which mean the same everywhere. A processor with a
    dot product of bytes has one for signed weights only, and takes 1.4 to 1.8 times as long for unsigned ones; there they are
    moved by 128 on the way. Sums of integers stay what they were, so the outputs are the same to the bit.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    network = signed(file) if quantised and dots_signed_bytes() else str(file)
    return onnxruntime.InferenceSession(network, options, providers=list(providers))


@lru_cache(maxsize=1)
def dots_signed_bytes(information: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether this processor has a dot product of unsigned and signed bytes; False where nobody says so."""
    try:
        lines = information.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return not _DOT_PRODUCTS.isdisjoint(flags)


def signed(file: Path) -> bytes:
    """The network with every unsigned weight of an integer product as the signed one that is 128 less, zero points too."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(file))
    stored = {one.name: one for one in model.graph.initializer}
    if any(attribute.HasField("g") or attribute.graphs for node in model.graph.node for attribute in node.attribute):
        # What a branch reads is not counted here.
        return bytes(model.SerializeToString())
    uses = Counter([*(name for node in model.graph.node for name in node.input), *(one.name for one in model.graph.output)])
    products = [node for node in model.graph.node if node.op_type == "MatMulInteger" and len(node.input) > _ZERO_POINT]
    for node in products:
        both = [stored[name] for name in (node.input[_WEIGHTS], node.input[_ZERO_POINT]) if name in stored]
        if [(one.data_type, uses[one.name]) for one in both] != [(onnx.TensorProto.UINT8, 1)] * 2:
            # What is computed on the way, or read elsewhere, too, stays as it is.
            continue
        for one in both:
            moved = (numpy_helper.to_array(one).astype(np.int16) - _MIDDLE).astype(np.int8)
            one.CopyFrom(numpy_helper.from_array(moved, one.name))
    return bytes(model.SerializeToString())
