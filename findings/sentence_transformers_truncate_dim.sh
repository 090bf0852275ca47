#!/bin/sh
# Versions: sentence-transformers 6.2.0 with transformers 5.24.0 and torch 2.13.0, CPython 3.11
#
# Behavior:
# The last module of a model is Normalize, so the embeddings have the norm 1. With truncate_dim, they are truncated after
# this module: their norms are below 1, and differ. The model's similarity is then still the cosine, but the product of
# two embeddings is not.
#
# Output:
#     norms of 16 columns: [1.0, 1.0]
#     norms of 6 columns:  [0.4852, 0.3805]
#     product 0.1064, cosine 0.5765
#
# Why a good guess is wrong:
# A good guess is that a model with Normalize always returns unit vectors, and that vector databases may use the inner
# product as the cosine: this is why the module exists. But truncate_dim is not a module; `encode` applies it to the
# result of all modules. It divides by the norm again only with normalize_embeddings=True, which is false by default.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check sentence-transformers==6.2.0 transformers==5.24.0 \
    torch==2.13.0
cat > "$directory/norms.py" <<'PYTHON_END'
import os
import sys

import numpy as np
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

os.chdir(sys.argv[1])
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "good", "film", "long"]
TEXTS = ["a good film", "long"]
torch.manual_seed(0)
config = transformers.BertConfig(
    vocab_size=len(WORDS),
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=24,
    initializer_range=0.5,
)
transformers.BertModel(config).save_pretrained("encoder")
vocabulary = {word: number for number, word in enumerate(WORDS)}
transformers.BertTokenizer(vocab=vocabulary).save_pretrained("encoder")
modules = [Transformer("encoder"), Pooling(16, "mean"), Normalize()]
SentenceTransformer(modules=modules, device="cpu").save("model", create_model_card=False)


def embed(**options):
    model = SentenceTransformer("model", device="cpu", **options)
    return model.encode(TEXTS), model.similarity_fn_name


def find_norms(embeddings):
    return [round(float(norm), 4) for norm in np.linalg.norm(embeddings, axis=1)]


full, _ = embed()
truncated, similarity = embed(truncate_dim=6)
product = float(truncated[0] @ truncated[1])
cosine = product / float(np.prod(np.linalg.norm(truncated, axis=1)))
print("norms of 16 columns:", find_norms(full))
print("norms of 6 columns: ", find_norms(truncated))
print(f"product {product:.4f}, {similarity} {cosine:.4f}")
assert find_norms(full) == [1.0, 1.0]
np.testing.assert_array_equal(truncated, full[:, :6])
assert max(find_norms(truncated)) < 0.99 and similarity == "cosine"
PYTHON_END
"$directory/venv/bin/python" "$directory/norms.py" "$directory"
