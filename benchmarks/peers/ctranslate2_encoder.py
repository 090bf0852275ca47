"""Hugging Face's BertModel in CTranslate2 on all cores, with random weights."""

import os
import tempfile

import ctranslate2
import transformers


class Peer:
    """The encoder, converted to CTranslate2.

    Args:
      sizes: Dict of arguments of transformers.BertConfig.
      dtype: str. Type of the weights and the multiplications, float32 or int8.
    """

    def __init__(self, sizes, dtype):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "source")
            target = os.path.join(folder, "target")
            # The converter reads an attribute that the config does not have since transformers 5.
            config = transformers.BertConfig(**sizes, position_embedding_type="absolute")
            transformers.BertModel(config).save_pretrained(source)
            write_tokenizer(source, sizes["vocab_size"])
            ctranslate2.converters.TransformersConverter(source).convert(target, quantization=dtype)
            self._encoder = ctranslate2.Encoder(
                target, compute_type=dtype, intra_threads=len(os.sched_getaffinity(0))
            )

    def answer(self, inputs):
        """Computes the output for a dict of name to int64 array [B, S], without padding."""
        self._encoder.forward_batch(
            inputs["input_ids"].tolist(), token_type_ids=inputs["token_type_ids"].tolist()
        )


def write_tokenizer(folder, vocab_size):
    """Writes a tokenizer, which the converter requires, with any entries."""
    entries = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    entries += [f"entry{number}" for number in range(vocab_size - len(entries))]
    path = os.path.join(folder, "vocab.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{entry}\n" for entry in entries)
    transformers.BertTokenizer(
        vocab={entry: number for number, entry in enumerate(entries)}
    ).save_pretrained(folder)
