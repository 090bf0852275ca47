#!/bin/sh
# Versions: transformers 5.24.0 with tokenizers 0.23.3, CPython 3.11 to 3.13
#
# Behavior:
# A tokenizer.json keeps case, has no [CLS] and [SEP], and limits words to 3 characters. tokenizers follows it. With
# "tokenizer_class": "BertTokenizer" next to it, AutoTokenizer takes only its vocabulary: it lowercases, adds [CLS] and
# [SEP], and limits words to 100 characters. The same holds without a class, if config.json has "model_type": "bert". Only
# the classes PreTrainedTokenizerFast and TokenizersBackend follow the file. There is no warning.
#
# Output:
#     tokenizers:              [5, 1]
#     PreTrainedTokenizerFast: [5, 1]
#     BertTokenizer:           [2, 6, 7, 3]
#     no class, a BERT model:  [2, 6, 7, 3]
#
# Why a good guess is wrong:
# A good guess is that tokenizer.json describes the tokenizer completely, since tokenizers needs no other file, and since
# the fast tokenizers of transformers 4 followed it. In version 5, the class builds normalizer, pre-tokenizer, and
# post-processor anew from tokenizer_config.json, in which do_lower_case is true by default. A cased model whose
# tokenizer_config.json lacks this key is lowercased.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check transformers==5.24.0 tokenizers==0.23.3
cat > "$directory/classes.py" <<'PYTHON_END'
import json
import pathlib
import sys

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers
from transformers import AutoTokenizer

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "The", "the", "film"]
folder = pathlib.Path(sys.argv[1]) / "model"
folder.mkdir()
backend = tokenizers.Tokenizer(
    models.WordPiece(
        {word: number for number, word in enumerate(WORDS)},
        unk_token="[UNK]",
        max_input_chars_per_word=3,
    )
)
backend.normalizer = normalizers.BertNormalizer(lowercase=False)
backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
backend.save(str(folder / "tokenizer.json"))
roles = {f"{role}_token": f"[{role.upper()}]" for role in ("pad", "unk", "cls", "sep", "mask")}


def find_ids(settings):
    (folder / "tokenizer_config.json").write_text(json.dumps(roles | settings))
    return AutoTokenizer.from_pretrained(folder)("The film")["input_ids"]


file = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
in_file = file.encode("The film").ids
fast = find_ids({"tokenizer_class": "PreTrainedTokenizerFast"})
bert = find_ids({"tokenizer_class": "BertTokenizer"})
(folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
without = find_ids({})
print("tokenizers:             ", in_file)
print("PreTrainedTokenizerFast:", fast)
print("BertTokenizer:          ", bert)
print("no class, a BERT model: ", without)
assert in_file == fast == [5, 1]
assert bert == without == [2, 6, 7, 3]
PYTHON_END
"$directory/venv/bin/python" "$directory/classes.py" "$directory"
