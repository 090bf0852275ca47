"""The names of tensors in Hugging Face's `model.safetensors`, and their canonical names.

Its linear kernels are [out, in]. The masked LM's output matrix is the word embedding matrix itself
(tied) and is not stored, or the model's own. The first layer of the classification heads of
DistilBERT and ELECTRA is the pooler.
"""

import re

from bert_tf.variables import (
    EMBEDDING_PROJECTION,
    EMBEDDING_PROJECTION_BIAS,
    NEXT_SENTENCE,
    OUTPUT_BIAS,
    OUTPUT_MATRIX,
)

WHOLE_NAMES = {
    OUTPUT_BIAS: "cls.predictions.bias",
    OUTPUT_MATRIX: "cls.predictions.decoder.weight",
    f"{NEXT_SENTENCE}output_weights": "cls.seq_relationship.weight",
    f"{NEXT_SENTENCE}output_bias": "cls.seq_relationship.bias",
    "cls/squad/output_weights": "qa_outputs.weight",
    "cls/squad/output_bias": "qa_outputs.bias",
    "output_weights": "classifier.weight",
    "output_bias": "classifier.bias",
    EMBEDDING_PROJECTION: "bert.embeddings_project.weight",
    EMBEDDING_PROJECTION_BIAS: "bert.embeddings_project.bias",
}
CANONICAL_NAMES = {key: name for name, key in WHOLE_NAMES.items()}
# The bias that is added to the scores. It is also stored as cls.predictions.bias, which differs in
# an untied model.
OUTPUT_BIAS_KEY = "cls.predictions.decoder.bias"
# A key without weights: the numbers 0, 1, 2, ...
NO_WEIGHTS = ("bert.embeddings.position_ids",)

# Starts of keys in DistilBERT and ELECTRA -> those of the same tensors in BERT.
RELATIVE_KEYS = {
    "electra.": "bert.",
    "distilbert.": "bert.",
    "transformer.": "bert.transformer.",
    "pre_classifier.": "bert.pooler.dense.",
    "classifier.dense.": "bert.pooler.dense.",
    "classifier.out_proj.": "classifier.",
    "sequence_summary.summary.": "bert.pooler.dense.",
    "vocab_transform.": "cls.predictions.transform.dense.",
    "vocab_layer_norm.": "cls.predictions.transform.LayerNorm.",
    "vocab_projector.bias": "cls.predictions.bias",
    "vocab_projector.weight": WHOLE_NAMES[OUTPUT_MATRIX],
}
# Parts of a layer in DistilBERT -> those in BERT.
DISTILBERT_PARTS = {
    "attention.q_lin": "attention.self.query",
    "attention.k_lin": "attention.self.key",
    "attention.v_lin": "attention.self.value",
    "attention.out_lin": "attention.output.dense",
    "sa_layer_norm": "attention.output.LayerNorm",
    "ffn.lin1": "intermediate.dense",
    "ffn.lin2": "output.dense",
    "output_layer_norm": "output.LayerNorm",
}
DISTILBERT_LAYER = re.compile(r"bert\.transformer\.(layer\.\d+)\.(.+)\.(weight|bias)")
# Ends of the names of matrices that are [out, in] in the files.
TRANSPOSED = ("/kernel", EMBEDDING_PROJECTION)

SCOPES = ("bert/", "cls/predictions/transform/")  # Scopes of the other canonical names.


def canonical_name(key, is_relative=True):
    """Returns the canonical name of a tensor in a .safetensors file.

    None if it has no separate weights.

    A plain BertModel has the same names without the prefix "bert.". Keys that no BERT model has are
    unchanged.

    `is_relative`: bool. Whether the model can be a DistilBERT or an ELECTRA.
    """
    key = _to_bert_key(key, is_relative)
    if key in CANONICAL_NAMES:
        return CANONICAL_NAMES[key]
    if key == OUTPUT_BIAS_KEY or not key.startswith(("bert.", "cls.")):
        return key
    if key in NO_WEIGHTS:
        return None
    name = re.sub(r"\.layer\.(\d+)\.", r".layer_\1.", key).replace(".", "/")
    scope, _, leaf = name.rpartition("/")
    if scope.endswith("_embeddings"):
        return scope
    if scope.endswith("/LayerNorm"):  # gamma and beta: files from before 2020
        return f"{scope}/{ {'weight': 'gamma', 'bias': 'beta'}.get(leaf, leaf) }"
    return f"{scope}/kernel" if leaf == "weight" else name


def _to_bert_key(key, is_relative):
    """Returns the key in BERT of the same tensor of a BERT, a DistilBERT, or an ELECTRA."""
    starts = RELATIVE_KEYS if is_relative else {}
    start = next((start for start in starts if key.startswith(start)), "")
    key = starts.get(start, "") + key.removeprefix(start)
    if key.startswith(("embeddings.", "embeddings_project.", "encoder.", "pooler.")):
        key = f"bert.{key}"
    match = DISTILBERT_LAYER.fullmatch(key)
    if match and match[2] in DISTILBERT_PARTS:
        return f"bert.encoder.{match[1]}.{DISTILBERT_PARTS[match[2]]}.{match[3]}"
    return key


def to_huggingface_key(name):
    """Returns the key of a canonical name in a .safetensors file; None if there is none."""
    if name in WHOLE_NAMES:
        return WHOLE_NAMES[name]
    if not name.startswith(SCOPES):
        return None
    if name.endswith("_embeddings"):
        name = f"{name}/weight"
    scope, _, leaf = name.rpartition("/")
    leaf = {"kernel": "weight", "gamma": "weight", "beta": "bias"}.get(leaf, leaf)
    return re.sub(r"/layer_(\d+)/", r"/layer/\1/", f"{scope}/{leaf}").replace("/", ".")
