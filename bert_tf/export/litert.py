"""Writes a Servable as one LiteRT (TensorFlow Lite) file that answers raw text by `bert_tf.litert.LiteRTModel`.

The file has a graph of fixed shapes, a signature, for each bucket of batch size and length: "rows_8x128" takes
"input_ids", "input_mask" and "segment_ids", int32 [8, 128], and gives the numbers that Servable.numbers names. A masked
LM's head is apart, since a text may have any number of masks: "masks_8" takes "vectors" float32 [8, H] and gives
"piece_ids" int32 [8, k] and "probabilities" float32 [8, k]. All graphs are converted together and share their weights.
What else the answers need is a zip archive at the file's end (`bert_tf.litert.metadata`).

Converting needs TensorFlow alone; to run the file needs ai-edge-litert, and no TensorFlow.
"""

import contextlib
import tempfile

import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.litert import metadata
from bert_tf.litert.signatures import HEAD, ROWS
from bert_tf.tokenization.model_inputs import FEATURES

KINDS = ("float32", "float16", "int8")
LENGTHS = (16, 32, 64, 128, 256, 384, 512)
BATCH_SIZES = (1, 8, 32)
HEAD_SIZES = (1, 8, 32)


def convert(servable, weights="float32", lengths=LENGTHS, batch_sizes=BATCH_SIZES):
    """Converts a Servable.

    Args:
      servable: Servable whose encoder keeps padding (made with static_length).
      weights: how they are stored, one of KINDS; with int8, "dynamic range", matrix products are computed in integers
        too, and activations quantized on the way, each row by itself.
      lengths: lengths of the buckets; those over the servable's max_seq_length become one of that length.
      batch_sizes: batch sizes of the buckets.

    Returns:
      bytes of the .tflite file.

    Raises:
      InputError: another kind of weights, a servable with dynamic lengths, no or impossible sizes.
    """
    if weights not in KINDS:
        raise InputError(f"`weights`={weights}: it must be one of {', '.join(KINDS)}")
    if not servable.static_length:
        raise InputError("a LiteRT model has fixed lengths: make the servable with `static_length`")
    if not lengths or not batch_sizes or min(*lengths, *batch_sizes) < 1:
        raise InputError(f"`lengths`={lengths} and `batch_sizes`={batch_sizes}: whole numbers over 0 are needed")
    module = tf.Module()
    module.weights = servable.model.variables
    with tempfile.TemporaryDirectory() as folder:
        with _small_tables(servable, module) if weights == "int8" else contextlib.nullcontext():
            functions = _functions(servable, _cut(lengths, servable.max_seq_length), sorted(set(batch_sizes)))
            tf.saved_model.save(module, folder, signatures=functions)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=list(functions))
        if weights != "float32":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if weights == "float16":
            converter.target_spec.supported_types = [tf.float16]
        content = converter.convert()
    return metadata.append(content, servable.litert_metadata(), servable.tokenizer.vocabulary)


def _cut(lengths, max_seq_length):
    """The lengths that rows of at most max_seq_length need, ascending."""
    return sorted({length for length in lengths if length < max_seq_length} | {max_seq_length})


def _functions(servable, lengths, batch_sizes):
    """dict from the name of each signature to its concrete function."""
    functions = {}
    for length in lengths:
        for batch_size in batch_sizes:
            functions[f"{ROWS}{batch_size}x{length}"] = _concrete(
                lambda **features: servable.numbers(features),
                dict.fromkeys(FEATURES, tf.TensorSpec([batch_size, length], tf.int32)))
    if hasattr(servable, "best_pieces"):
        for size in HEAD_SIZES:
            functions[f"{HEAD}{size}"] = _concrete(
                servable.best_pieces, {"vectors": tf.TensorSpec([size, servable.config.hidden_size], tf.float32)})
    return functions


def _concrete(function, specs):
    """The concrete function of `function(**tensors)`."""
    traced = tf.function(tf.autograph.experimental.do_not_convert(function), autograph=False)
    return traced.get_concrete_function(**{name: tf.TensorSpec(spec.shape, spec.dtype, name)
                                           for name, spec in specs.items()})


@contextlib.contextmanager
def _small_tables(servable, module):
    """A context in which words are looked up in a table of int8, one scale a row, which becomes part of `module`.

    The converter quantizes kernels of matrix products alone. A table that is looked up would stay float32 in the file,
    or become float32 as a whole in the memory of each graph.
    """
    embeddings = getattr(servable.model, "encoder", servable.model).embeddings
    table = embeddings.word_embeddings.read_value()
    scale = tf.maximum(tf.reduce_max(tf.abs(table), axis=1, keepdims=True) / 127, 1e-30)
    module.table = tf.Variable(tf.cast(tf.round(table / scale), tf.int8), trainable=False)
    module.table_scale = tf.Variable(scale, trainable=False)
    vars(embeddings)["_look_up_words"] = lambda ids: (
        tf.cast(tf.gather(module.table, ids), tf.float32) * tf.gather(module.table_scale, ids))
    try:
        yield
    finally:
        del vars(embeddings)["_look_up_words"]
