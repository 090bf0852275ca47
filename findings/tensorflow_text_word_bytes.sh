#!/bin/sh
# Versions: tensorflow-text 2.20.1 with tensorflow 2.20.0, CPython 3.11 to 3.13
#
# Behavior:
# tensorflow_text.BertTokenizer turns a word of more than 100 bytes of UTF-8 into [UNK]: 100 Latin letters are tokenized,
# 34 Thai letters (102 bytes) are not. BERT's own tokenizer counts characters, and its limit is 200.
#
# Output:
#     100 letters, 100 bytes: 100
#     101 letters, 101 bytes: [UNK]
#     33 letters, 99 bytes: 33
#     34 letters, 102 bytes: [UNK]
#
# Why a good guess is wrong:
# A good guess is that the limit never matters, since a word of 100 characters is not a word. But scripts without spaces, such
# as Thai, Khmer, and Lao, write a whole clause as one word for BERT's splitting, and their letters have three bytes: 34
# letters are half a line of text. Half of a Thai corpus is [UNK] without a message. The argument max_bytes_per_word exists,
# and its name is the only hint.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check tensorflow==2.20.0 tensorflow-text==2.20.1
cat > "$directory/words.py" <<'PYTHON_END'
import sys

import tensorflow as tf
import tensorflow_text as text

PATH = sys.argv[1]
with open(PATH, "w", encoding="utf-8") as file:
    file.writelines(f"{token}\n" for token in ("[UNK]", "ก", "##ก", "x", "##x"))
tokenizer = text.BertTokenizer(PATH, lower_case=False, token_out_type=tf.string)
wider = text.BertTokenizer(
    PATH, lower_case=False, token_out_type=tf.string, max_bytes_per_word=600
)


def count_tokens(tokenizer, word):
    tokens = tokenizer.tokenize([word]).flat_values.numpy()
    return 0 if tokens.tolist() == [b"[UNK]"] else len(tokens)


for word in ("x" * 100, "x" * 101, "ก" * 33, "ก" * 34):
    tokens = count_tokens(tokenizer, word)
    print(f"{len(word)} letters, {len(word.encode())} bytes: {tokens or '[UNK]'}")
assert count_tokens(tokenizer, "x" * 100) == 100
assert count_tokens(tokenizer, "ก" * 33) == 33
assert count_tokens(tokenizer, "x" * 101) == count_tokens(tokenizer, "ก" * 34) == 0
assert count_tokens(wider, "ก" * 200) == 200
PYTHON_END
"$directory/venv/bin/python" "$directory/words.py" "$directory/vocab.txt" 2> "$directory/messages" || { cat "$directory/messages" >&2; exit 1; }
