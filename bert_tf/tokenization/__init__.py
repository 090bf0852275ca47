"""The original's exact tokenization as TensorFlow graph ops, vocabularies, and model inputs.

Modules are imported on first access to one of their names (PEP 562): vocabularies and Unicode rules
work without TensorFlow, which the tokenizer requires.
"""

from bert_tf.lazy_names import make_importer

_MODULES = {
    "AddedToken": "added_tokens",
    "BertTokenizer": "tokenizer",
    "join_rows": "model_inputs",
    "join_windows": "model_inputs",
    "read_added_tokens": "token_files",
    "read_tokenizer": "tokenizer",
    "read_vocabulary": "vocabulary",
}

__all__ = [
    "AddedToken",
    "BertTokenizer",
    "join_rows",
    "join_windows",
    "read_added_tokens",
    "read_tokenizer",
    "read_vocabulary",
]

__getattr__ = make_importer(__name__, _MODULES)
