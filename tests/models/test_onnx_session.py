"""Signed weights where the processor multiplies those faster: other bytes, the same numbers."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnxruntime import InferenceSession

from aico_memory.models.embedder import Embedder
from aico_memory.models.load import ModelAccount
from aico_memory.models.onnx_embedder import MODEL_FILE
from aico_memory.models.onnx_session import dots_signed_bytes, open_session, signed
from tests.support.exports import export_folder

ROOT = Path(__file__).resolve().parents[2]
READER = ROOT / "config" / "span_reader" / MODEL_FILE


def weights(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """What each integer product's weights stand for, by the product's name."""
    stored = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    return {
        node.name: stored[node.input[1]].astype(np.int16) - stored[node.input[3]].astype(np.int16)
        for node in model.graph.node
        if node.op_type == "MatMulInteger"
    }


def test_signed_weights_stand_for_what_unsigned_ones_did() -> None:
    before, after = onnx.load(str(READER)), onnx.load_from_string(signed(READER))
    moved = {one.name for one in after.graph.initializer if one.data_type == onnx.TensorProto.INT8}
    products = [node for node in after.graph.node if node.op_type == "MatMulInteger"]
    assert products
    assert {node.input[place] for node in products for place in (1, 3)} == moved
    expected, found = weights(before), weights(after)
    assert expected.keys() == found.keys()
    for name, numbers in expected.items():
        np.testing.assert_array_equal(found[name], numbers)


def test_what_is_no_weight_of_one_product_alone_stays_as_it_is(tmp_path: Path) -> None:
    table = numpy_helper.from_array(np.array([[1, 200], [3, 4]], dtype=np.uint8), "table")
    zero = numpy_helper.from_array(np.array(7, dtype=np.uint8), "zero")
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("MatMulInteger", ["rows", "table", "zero", "zero"], ["product"], name="one"),
            onnx.helper.make_node("Identity", ["table"], ["copy"]),
            onnx.helper.make_node("MatMulInteger", ["rows", "told", "zero", "nine"], ["other"], name="two"),
        ],
        "two uses",
        [onnx.helper.make_tensor_value_info("rows", onnx.TensorProto.UINT8, [1, 2])],
        [
            onnx.helper.make_tensor_value_info("product", onnx.TensorProto.INT32, [1, 2]),
            onnx.helper.make_tensor_value_info("copy", onnx.TensorProto.UINT8, [2, 2]),
            onnx.helper.make_tensor_value_info("told", onnx.TensorProto.UINT8, [2, 2]),
            onnx.helper.make_tensor_value_info("other", onnx.TensorProto.INT32, [1, 2]),
        ],
        [
            table,
            zero,
            numpy_helper.from_array(np.array([[200, 2], [3, 250]], dtype=np.uint8), "told"),
            numpy_helper.from_array(np.array(9, dtype=np.uint8), "nine"),
        ],
    )
    file = tmp_path / "model.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9), str(file))
    session = InferenceSession(signed(file), providers=["CPUExecutionProvider"])
    product, copy, told, other = session.run(None, {"rows": np.array([[9, 8]], dtype=np.uint8)})
    assert (product.tolist(), copy.tolist()) == ([[-16, 383]], [[1, 200], [3, 4]])
    assert (told.tolist(), other.tolist()) == ([[200, 2], [3, 250]], [[2 * 191 - 6, 2 * -7 + 241]])


@pytest.mark.skipif(not dots_signed_bytes(), reason="this processor would let sums of signed weights saturate")
def test_both_kinds_of_weights_give_the_same_bits() -> None:
    as_stored = InferenceSession(str(READER), providers=["CPUExecutionProvider"])
    as_served = open_session(READER, threads=1, quantised=True)
    draw = np.random.default_rng(5)
    marks = as_stored.get_inputs()[1].shape[2]
    for length in (5, 33, 160):
        told = {"tokens": draw.integers(1_000, 20_000, (1, length)), "marks": draw.integers(0, 2, (1, length, marks))}
        np.testing.assert_array_equal(as_served.run(None, told)[0], as_stored.run(None, told)[0])


def test_the_embedded_model_s_vectors_are_those_of_its_file(loaded: tuple[Embedder, ModelAccount]) -> None:
    embedder, account = loaded
    assert account.precision == "int8"
    text = "The invoice for the piano lessons comes on the first of the month."
    # Where the export store keeps what serves.
    file = export_folder() / hashlib.sha256(embedder.fingerprint.encode()).hexdigest()[:24] / MODEL_FILE
    encoded = embedder._tokenizer.encode(text)  # type: ignore[attr-defined]
    session = InferenceSession(str(file), providers=["CPUExecutionProvider"])
    tokens = {"input_ids": np.array([encoded.ids]), "attention_mask": np.array([encoded.attention_mask])}
    vector = session.run(None, tokens)[0][0].mean(axis=0)
    np.testing.assert_allclose(embedder.embed([text])[0], vector / np.linalg.norm(vector), atol=1e-6)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("model name\t: x\nflags\t\t: fpu avx2 avx512_vnni\n", True),
        ("flags\t\t: fpu avx_vnni\n", True),
        ("flags\t\t: fpu avx2 vnni\n", False),
        ("Features\t: asimddp\n", False),
        ("", False),
    ],
)
def test_the_processor_is_asked_by_its_flags(content: str, expected: bool, tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(content)
    assert dots_signed_bytes(file) is expected
    assert dots_signed_bytes(tmp_path / "none") is False
