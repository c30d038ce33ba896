"""The one-time export of a sentence-transformers model, in a process of its own that ends with torch in it.

`python -m aico_memory.models.onnx_export SOURCE INTO PRECISION` leaves in INTO: `model.onnx`,
`tokenizer.json`, `recipe.json` and `reference.npy`, the reference's vectors of the
check sentences. It checks nothing itself: whoever serves the export does.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from aico_memory.errors import ModelUnavailable
from aico_memory.models.check_sentences import CHECK_SENTENCES
from aico_memory.models.weights import go_offline

OPSET = 17
# Exit code of an export whose parent died.
ORPHANED = 4


def export_model(source: Path, into: Path, precision: str) -> None:
    """Write the exported model of the folder `source` into the folder `into`; ModelUnavailable where it has no such form.

    `precision` is float32 or int8; the reference's vectors are float32's in either case.
    """
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    model = SentenceTransformer(str(source), device="cpu", local_files_only=True)
    recipe = {**_recipe(model), "precision": precision}
    backbone = model[0].auto_model.eval()

    class TokenVectors(torch.nn.Module):  # type: ignore[misc]  # torch is untyped here
        def __init__(self) -> None:
            super().__init__()
            self.backbone = backbone

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    sample = model.tokenizer(list(CHECK_SENTENCES[:2]), padding=True, return_tensors="pt")
    axes = {0: "texts", 1: "tokens"}
    with torch.no_grad(), warnings.catch_warnings():
        # The tracing exporter works without onnxscript; its notices are known and the result is checked.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            TokenVectors(),
            (sample["input_ids"], sample["attention_mask"]),
            str(into / "model.onnx"),
            input_names=["input_ids", "attention_mask"],
            output_names=["token_vectors"],
            dynamic_axes={"input_ids": axes, "attention_mask": axes, "token_vectors": axes},
            opset_version=OPSET,
            dynamo=False,
        )
    if precision == "int8":
        _quantise(into / "model.onnx")
    (into / "tokenizer.json").write_text(model.tokenizer.backend_tokenizer.to_str(), encoding="utf-8")
    vectors = model.encode(list(CHECK_SENTENCES), normalize_embeddings=True, show_progress_bar=False)
    np.save(into / "reference.npy", np.asarray(vectors, dtype=np.float32))
    (into / "recipe.json").write_text(json.dumps(recipe, sort_keys=True, indent=1), encoding="utf-8")


def _quantise(file: Path) -> None:
    """Weights as 8-bit integers, one scale a channel; activations are quantised as they come.

    Unsigned: where a processor has no dot product of its own for 8 bits (AVX2 alone), onnxruntime multiplies unsigned by
    signed ones with sums of 16 bits, which saturate, and the same text would have another vector there than elsewhere.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = file.with_suffix(".float32")
    file.rename(whole)
    # It advises to preprocess, which changes nothing for this graph.
    logging.getLogger().setLevel(logging.ERROR)
    quantize_dynamic(whole, file, weight_type=QuantType.QUInt8, per_channel=True)
    whole.unlink()


def _recipe(model: Any) -> dict[str, Any]:
    """What turns token vectors into a text's vector; only mean pooling, with or without normalisation, has an export."""
    parts = [type(part).__name__ for part in model]
    if parts[:2] != ["Transformer", "Pooling"] or set(parts[2:]) - {"Normalize"}:
        raise ModelUnavailable(f"A model of {' + '.join(parts)} has no export", "Set models.serve_by to reference.")
    pooling = model[1].get_config_dict()
    mode = pooling.get("pooling_mode", "")
    if mode != "mean" and not (mode == "" and pooling.get("pooling_mode_mean_tokens")):
        raise ModelUnavailable(f"Pooling by {mode or pooling} has no export", "Set models.serve_by to reference.")
    return {
        "max_length": int(model.max_seq_length),
        "pad_id": int(model.tokenizer.pad_token_id),
        "pad_token": str(model.tokenizer.pad_token),
        "opset": OPSET,
    }


def _end_with_parent() -> None:
    """The parent holds the other end of stdin: when it is gone, by whatever death, nobody wants the export."""
    # Not through sys.stdin, whose lock a waiting thread would hold beyond the interpreter's end.
    while os.read(0, 1):
        continue
    os._exit(ORPHANED)


def main(arguments: list[str]) -> int:
    """Entry of the child process."""
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    go_offline(os.environ)
    export_model(Path(arguments[0]), Path(arguments[1]), arguments[2])
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
