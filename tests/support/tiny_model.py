"""A sentence-transformers model of the configured model's architecture, small and with random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from aico_memory.models.check_sentences import CHECK_SENTENCES

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
MAX_LENGTH = 128


def save_tiny_model(folder: Path, pooling: str = "mean") -> None:
    """Write an XLM-RoBERTa with two layers of 48 dimensions, its tokenizer and its pooling, as a hub folder has them."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize, Pooling, Transformer
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

    torch.manual_seed(3)
    tokenizer = _tokenizer()
    config = XLMRobertaConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=96, max_position_embeddings=MAX_LENGTH + 4,
    )  # fmt: skip
    backbone = folder.with_name(folder.name + "-backbone")
    XLMRobertaModel(config).save_pretrained(str(backbone))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>",
        mask_token="<mask>", cls_token="<s>", sep_token="</s>", model_max_length=MAX_LENGTH,
    ).save_pretrained(str(backbone))  # fmt: skip
    words: Any = Transformer(str(backbone), max_seq_length=MAX_LENGTH)
    SentenceTransformer(modules=[words, Pooling(48, pooling_mode=pooling), Normalize()]).save(str(folder))


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=list(SPECIAL), unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(list(CHECK_SENTENCES) * 3, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return tokenizer
