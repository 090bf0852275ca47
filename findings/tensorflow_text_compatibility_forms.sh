#!/bin/sh
# Versions: tensorflow-text 2.20.1 with tensorflow 2.20.0, CPython 3.11 to 3.13
#
# Behavior:
# With lower_case=True, tensorflow_text.BertTokenizer and FastBertTokenizer normalize text by a compatibility
# decomposition: "½" becomes "1⁄2" and is [UNK] although the vocabulary has an entry "½"; "²" gets the ID of "2", and the
# ligature "ﬁ" the ID of "fi". With lower_case=False, BertTokenizer finds all three entries. BERT's own tokenizer lowercases,
# decomposes canonically (NFD), and removes accents: it finds all three entries, lowercase or not.
#
# Output:
#     ½ ['[UNK]'] ['[UNK]'] ['½']   (BertTokenizer and FastBertTokenizer lowercasing; BertTokenizer cased)
#     ² ['2'] ['2'] ['²']
#     ﬁ ['fi'] ['fi'] ['ﬁ']
#
# Why a good guess is wrong:
# A good guess is that the IDs are those with which the published models were trained: both classes are documented as an
# implementation of BERT's tokenization, and the published uncased vocabularies have entries for such characters (½, ², ³,
# and others). But "case folding with NFKC" is not "lowercase, then NFD", and only the former is a precompiled normalizer
# of the library.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check tensorflow==2.20.0 tensorflow-text==2.20.1
cat > "$directory/forms.py" <<'PYTHON_END'
import sys
import unicodedata

import tensorflow as tf
import tensorflow_text as text

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "1", "2", "½", "²", "ﬁ", "fi", "/"]
PATH = sys.argv[1]
with open(PATH, "w", encoding="utf-8") as file:
    file.writelines(f"{token}\n" for token in VOCABULARY)


def tokenize(tokenizer, word):
    tokens = tokenizer.tokenize([word]).flat_values.numpy()
    return [token.decode() for token in tokens]


lowercasing = text.BertTokenizer(PATH, lower_case=True, token_out_type=tf.string)
cased = text.BertTokenizer(PATH, lower_case=False, token_out_type=tf.string)
fast = text.FastBertTokenizer(
    VOCABULARY, token_out_type=tf.string, lower_case_nfd_strip_accents=True
)
for word, replaced in (("½", ["[UNK]"]), ("²", ["2"]), ("ﬁ", ["fi"])):
    print(word, tokenize(lowercasing, word), tokenize(fast, word), tokenize(cased, word))
    assert unicodedata.normalize("NFD", word.lower()) == word
    assert tokenize(cased, word) == [word]
    assert tokenize(lowercasing, word) == replaced
    assert tokenize(fast, word) == replaced
PYTHON_END
"$directory/venv/bin/python" "$directory/forms.py" "$directory/vocab.txt" 2> "$directory/messages" || { cat "$directory/messages" >&2; exit 1; }
