#!/bin/sh
# Versions: sentencepiece 0.2.1, CPython 3.11 to 3.13
#
# Behavior:
# The default normalization of SentencePiece (nmt_nfkc) replaces the zero-width non-joiner (U+200C) by a space. Persian
# words with one become two words, and decoding returns another text. The zero-width joiner (U+200D) is kept.
#
# Output:
#     U+200C: '\u2581\u0645\u06cc\u2581\u062e\u0648\u0627\u0647\u0645', decoded as before: False
#     U+200D: '\u2581\u0645\u06cc\u200d\u062e\u0648\u0627\u0647\u0645', decoded as before: True
#
# Why a good guess is wrong:
# A good guess is NFKC, as the name says, which changes neither character, or that both are treated alike: both are
# format characters (Cf) without width. SentencePiece is documented as lossless except for the normalization; but this
# character separates the parts of a word in correct Persian spelling, such as the prefix of all present tenses and the
# plural, and the space makes them words of their own, in training and in use.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check sentencepiece==0.2.1
cat > "$directory/words.py" <<'PYTHON_END'
import io
import unicodedata

import sentencepiece

PARTS = ("\u0645\u06cc", "\u062e\u0648\u0627\u0647\u0645")  # mi-khaham, "I want"
words = {code: chr(code).join(PARTS) for code in (0x200C, 0x200D)}
model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(list(words.values()) * 50),
    model_writer=model,
    model_type="char",
    vocab_size=12,
    minloglevel=2,
)
processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
for code, word in words.items():
    assert unicodedata.normalize("NFKC", word) == word
    is_same = processor.decode(processor.encode(word)) == word
    print(f"U+{code:04X}: {ascii(processor.normalize(word))}, decoded as before: {is_same}")
    assert is_same == (code == 0x200D)
PYTHON_END
"$directory/venv/bin/python" "$directory/words.py"
