"""Intent or sentiment by a transformer with a trained head, where one is configured and its weights are at hand."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from aico_memory.domain.language.tables import INTENTS, SENTIMENTS
from aico_memory.errors import ModelUnavailable
from aico_memory.models.analysis import Judgement
from aico_memory.models.weights import find_configured

# How published sentiment models name what we call positive, neutral and negative.
_SENTIMENT_NAMES = {
    "1 star": "negative", "2 stars": "negative", "3 stars": "neutral", "4 stars": "positive", "5 stars": "positive",
    "label_0": "negative", "label_1": "neutral", "label_2": "positive", "neg": "negative", "pos": "positive",
    "joy": "positive", "surprise": "neutral", "anger": "negative", "disgust": "negative", "fear": "negative",
    "sadness": "negative",
}  # fmt: skip
MAX_TOKENS = 512


class TransformerClassifier:
    """One configured model; loading it brings torch into this process."""

    def __init__(self, task: str, model: str) -> None:
        mend = f"Fetch it on a machine with a hub (`hf download {model}`), name a folder as models.{task}_model, or set "
        mend += f"models.{task}_classifier to embedded."
        try:
            weights = find_configured(model)
        except ModelUnavailable as missing:
            raise ModelUnavailable(missing.detail, mend) from missing
        self._name = model
        self._lock = threading.Lock()
        try:
            import torch
            from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

            config = AutoConfig.from_pretrained(str(weights.folder), local_files_only=True)
            self._labels = _own_labels(task, model, dict(config.id2label), list(config.architectures or ()))
            self._torch = torch
            self._tokenizer: Any = AutoTokenizer.from_pretrained(str(weights.folder), local_files_only=True)
            self._model: Any = AutoModelForSequenceClassification.from_pretrained(str(weights.folder), local_files_only=True)
            self._model.eval()
        except (ImportError, OSError, RuntimeError, ValueError) as error:
            raise ModelUnavailable(f"{model} cannot be loaded from {weights.folder}: {error}", mend) from error

    def judge(self, text: str, language: str, vector: npt.NDArray[np.float32] | None) -> Judgement:
        """The most probable label; probabilities of names that mean the same are added."""
        with self._lock, self._torch.no_grad():
            tokens = self._tokenizer(text, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
            chances = self._torch.softmax(self._model(**tokens).logits[0], dim=-1).tolist()
        totals: dict[str, float] = {}
        for label, chance in zip(self._labels, chances, strict=True):
            totals[label] = totals.get(label, 0.0) + float(chance)
        best = max(totals, key=lambda label: totals[label])
        return Judgement(best, totals[best], f"transformer ({self._name})")


def _own_labels(task: str, model: str, names: dict[int, str], architectures: list[str]) -> list[str]:
    """Our label of each of the model's outputs; ModelUnavailable where it has no trained head or other labels."""
    if not any("SequenceClassification" in name for name in architectures):
        raise ModelUnavailable(
            f"{model} has no trained classification head: its labels would be chance",
            f"Configure a model fine-tuned for {task}, or set models.{task}_classifier to embedded.",
        )
    known = INTENTS if task == "intent" else SENTIMENTS
    found = []
    for at in range(len(names)):
        name = str(names[at]).casefold()
        label = name if name in known else _SENTIMENT_NAMES.get(name, "") if task == "sentiment" else ""
        if not label:
            raise ModelUnavailable(f"{model} answers {names[at]!r}, which is no {task} known here")
        found.append(label)
    return found
