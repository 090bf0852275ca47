#!/bin/sh
# Versions: sentence-transformers 6.2.0 with transformers 5.24.0 and torch 2.13.0, CPython 3.11
#
# Behavior:
# encode(texts, precision="int8") finds the range of each column among the embeddings of this call. So the same text has
# other numbers in another call: here, the first text of two lists of 129 texts. The cosine of its two embeddings is 0.46,
# although it is 1.0 in float32. From 100 texts on, there is no warning.
#
# Output:
#     float32: cosine 1.0000
#     int8: cosine 0.4591, largest difference of a number 255 of 255
#
# Why a good guess is wrong:
# A good guess is that int8 is a property of the numbers that are stored, as precision="binary" is, so that documents can
# be encoded in parts, and queries separately. But the ranges are neither fixed nor part of the model. They have to be
# computed once and passed to quantize_embeddings; encode has no argument for them.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check sentence-transformers==6.2.0 transformers==5.24.0 \
    torch==2.13.0
cat > "$directory/ranges.py" <<'PYTHON_END'
import itertools
import os
import sys

import numpy as np
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

os.chdir(sys.argv[1])
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["a", "good", "film", "long", "bad", "book"]
torch.manual_seed(0)
config = transformers.BertConfig(
    vocab_size=len(SPECIAL + WORDS),
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=24,
    initializer_range=0.5,
)
transformers.BertModel(config).save_pretrained("encoder")
vocabulary = {word: number for number, word in enumerate(SPECIAL + WORDS)}
transformers.BertTokenizer(vocab=vocabulary).save_pretrained("encoder")
model = SentenceTransformer(modules=[Transformer("encoder"), Pooling(16, "mean")], device="cpu")


def make_texts(*words):
    """Returns the same first text, and 128 others of these words."""
    return ["a good film", *map(" ".join, itertools.product(words, repeat=7))]


for precision in ("float32", "int8"):
    first, second = (
        model.encode(texts, precision=precision)[0].astype(np.float64)
        for texts in (make_texts("good", "film"), make_texts("bad", "book"))
    )
    cosine = first @ second / np.sqrt((first @ first) * (second @ second))
    difference = np.abs(first - second).max()
    if precision == "float32":
        print(f"float32: cosine {cosine:.4f}")
        assert cosine > 0.9999
    else:
        print(f"int8: cosine {cosine:.4f}, largest difference of a number {difference:.0f} of 255")
        assert cosine < 0.9 and difference > 50
PYTHON_END
"$directory/venv/bin/python" -W ignore "$directory/ranges.py" "$directory"
