#!/bin/sh
# Versions: ctranslate2 4.8.5 with transformers 5.24.0 and torch 2.13.0, CPython 3.11
#
# Behavior:
# TransformersConverter of CTranslate2 raises an AttributeError for a BERT that transformers 5 has saved. With
# "position_embedding_type": "absolute" in config.json, it converts the same directory, and the outputs are equal.
#
# Output:
#     as saved: AttributeError: 'BertConfig' object has no attribute 'position_embedding_type'
#     with position_embedding_type: largest difference 0.000000
#
# Why a good guess is wrong:
# A good guess is that a released converter reads what the current transformers writes, since BERT and its weights are
# unchanged and pip reports no conflict, or that the model uses unsupported position embeddings, which the attribute is
# about. But transformers 5 has only one kind of them for BERT and removed the attribute, whose default the converter
# expects. Configs that transformers 4 wrote contain the key, so the same converter reads older downloads.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check ctranslate2==4.8.5 transformers==5.24.0 torch==2.13.0
cat > "$directory/convert.py" <<'PYTHON_END'
import json
import os
import sys

import ctranslate2
import numpy as np
import torch
import transformers
from ctranslate2.converters import TransformersConverter

os.chdir(sys.argv[1])
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
IDS = [2, 5, 6, 3]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "good", "film"]
config = transformers.BertConfig(
    vocab_size=len(WORDS),
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=24,
)
model = transformers.BertModel(config).eval()
model.save_pretrained("bert")
vocabulary = {word: number for number, word in enumerate(WORDS)}
transformers.BertTokenizer(vocab=vocabulary).save_pretrained("bert")
error = None
try:
    TransformersConverter("bert").convert("converted")
except AttributeError as raised:
    error = raised
print(f"as saved: {type(error).__name__}: {error}")
assert "position_embedding_type" in str(error)
with open("bert/config.json") as file:
    saved = json.load(file)
assert "position_embedding_type" not in saved
with open("bert/config.json", "w") as file:
    json.dump({**saved, "position_embedding_type": "absolute"}, file)
TransformersConverter("bert").convert("converted")
outputs = ctranslate2.Encoder("converted").forward_batch([IDS])
with torch.no_grad():
    expected = model(torch.tensor([IDS])).last_hidden_state.numpy()
difference = np.abs(np.array(outputs.last_hidden_state) - expected).max()
print(f"with position_embedding_type: largest difference {difference:.6f}")
assert difference < 1e-5
PYTHON_END
"$directory/venv/bin/python" -W ignore "$directory/convert.py" "$directory" 2> "$directory/messages" || { cat "$directory/messages" >&2; exit 1; }
