"""LiteRT (TensorFlow Lite) models that take raw text, each a single file: writes and opens them.

    content = convert(servable)                  requires TensorFlow
    model = LiteRTModel("reviews.tflite")        requires only ai-edge-litert
    model(text=["A lovely film."])["label"]

The file has one graph of fixed shape, a signature, per bucket of batch size and length:
"rows_8x128" takes "input_ids", "input_mask", and "segment_ids", int32 [8, 128], and returns the
result of Servable.compute_outputs. The head of a masked LM is separate, since texts can have any
number of masks: "masks_8" takes "vectors" float32 [8, H] and returns "piece_ids" int32 [8, k] and
"probabilities" float32 [8, k]. All graphs are converted together and share their weights. Other
data for the predictions is in a zip archive at the end of the file (`litert_metadata`). The answer
of each kind of task, from its texts and the outputs of the graphs, is plain.py of its package in
bert_tf.tasks.
"""

import tempfile

import numpy as np

from bert_tf.errors import InputError
from bert_tf.features import FEATURES
from bert_tf.serving import litert_metadata, mediapipe
from bert_tf.serving.buckets import BATCH_SIZES, HEAD, LENGTHS, ROWS, Buckets, quiet
from bert_tf.serving.plain_model import PlainModel, check_can_be_plain
from bert_tf.tasks import KINDS, Classifier

WEIGHTS = ("float32", "float16", "int8")
HEAD_SIZES = (1, 8, 32)


class LiteRTModel(PlainModel):
    """A model that export_saved_model wrote with `format`=litert.

    It loads fast, since it does not use TensorFlow. It can be used from several threads. The file's
    graphs then take turns; each uses `num_threads` cores. A graph is prepared on its first use,
    which takes a fraction of a second.

    Attributes:
      gives_probabilities: bool. Whether the graph of a classifier computes probabilities, for
        MediaPipe, instead of logits.
    """

    def __init__(self, path, num_threads=None):
        """Opens the file.

        Args:
          path: Path of a local .tflite file.
          num_threads: int. Threads per matrix multiplication; None for one per core.

        Raises:
          InputError: If the file has another format.
          OSError: If it cannot be read.
        """
        described = litert_metadata.read(path)  # It verifies the graphs before they are opened.
        graphs = Buckets(path, num_threads)
        is_classifier = described.task.kind == Classifier.name
        self.gives_probabilities = is_classifier and mediapipe.PROBABILITIES in graphs.output_names
        if self.gives_probabilities:
            graphs = mediapipe.LogitsGraphs(graphs, described.task)
        super().__init__(described, graphs)


def convert_servable(
    servable, weights="float32", lengths=LENGTHS, batch_sizes=BATCH_SIZES, *, for_mediapipe=False
):
    """Converts a Servable to a .tflite file.

    Args:
      servable: Servable whose FastEncoder has the layer "litert".
      weights: str. Storage type, one of WEIGHTS. With int8 ("dynamic range"), matrix
        multiplications run in integers too, and activations are quantized at run time, per row.
      lengths: Lengths of the buckets; those over the servable's max_seq_length become one of that
        length.
      batch_sizes: Batch sizes of the buckets.
      for_mediapipe: bool. Whether MediaPipe can open the file, too. It then has one graph, for one
        row of max_seq_length.

    Returns:
      Contents of the file, bytes.

    Raises:
      InputError: If the weights are unknown, if the servable reads windows of long texts, or if
        MediaPipe does not have its task.
    """
    if weights not in WEIGHTS:
        raise InputError(f"must be one of {', '.join(WEIGHTS)}", "weights", weights)
    check_can_be_plain(servable, "LiteRT")
    tokenizer = servable.tokenizer
    files = None
    if for_mediapipe:
        mediapipe.check_task(servable.metadata)
        functions = {f"{ROWS}1x{servable.max_seq_length}": mediapipe.trace_row(servable)}
        content = _convert_functions(servable, functions, weights)
        content = mediapipe.add_description(content, servable.metadata)
        files = mediapipe.list_files(servable.metadata)
    else:
        lengths = {
            min(length, servable.max_seq_length) for length in (*lengths, servable.max_seq_length)
        }
        functions = _functions(servable, sorted(lengths), sorted(set(batch_sizes)))
        content = _convert_functions(servable, functions, weights)
    from bert_tf.serving.litert_vectors import share_vectors

    return litert_metadata.append(
        share_vectors(content),
        servable.metadata,
        tokenizer.base_vocabulary,
        tokenizer.added_tokens,
        other_files=files,
    )


def _convert_functions(servable, functions, weights):
    """Returns the bytes of a .tflite file with the weights of a Servable.

    Args:
      servable: Servable.
      functions: Dict of signature name to concrete function.
      weights: str. Storage type.
    """
    import tensorflow as tf  # Opening a file does not require it.

    module = tf.Module()
    module.weights = servable.model.variables
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures=functions)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=list(functions))
        if weights != "float32":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if weights == "float16":
            converter.target_spec.supported_types = [tf.float16]
        with quiet():
            return converter.convert()


def _functions(servable, lengths, batch_sizes):
    """Returns a dict of signature name to concrete function."""
    import tensorflow as tf

    from bert_tf.tasks.servable import trace

    functions = {}
    for length in lengths:
        for batch_size in batch_sizes:
            functions[f"{ROWS}{batch_size}x{length}"] = trace(
                lambda **features: servable.compute_outputs(features),
                dict.fromkeys(FEATURES, tf.TensorSpec([batch_size, length], tf.int32)),
            )
    if hasattr(servable, "best_pieces"):
        for size in HEAD_SIZES:
            functions[f"{HEAD}{size}"] = trace(
                servable.best_pieces,
                {"vectors": tf.TensorSpec([size, servable.config.hidden_size], tf.float32)},
            )
    return functions


def largest_differences(servable, path):
    """Compares the outputs of a converted model with the servable's own, on its example.

    Returns:
      Dict of output name to float. Maximum absolute difference at a non-padding token. For a
      classifier's file for MediaPipe, the output is the probabilities.
    """
    import tensorflow as tf

    features = {
        name: tf.reshape(value, [-1, value.shape[-1]])
        for name, value in servable.example_features().items()
    }
    model = LiteRTModel(path)
    found = model.compute_outputs({name: value.numpy() for name, value in features.items()})
    outputs = {name: value.numpy() for name, value in servable.compute_outputs(features).items()}
    if model.gives_probabilities:  # It knows the logits only up to a constant.
        found = mediapipe.logits_to_probabilities(found, servable.metadata)
        outputs = mediapipe.logits_to_probabilities(outputs, servable.metadata)
    differences = {}
    for name, expected in outputs.items():
        difference = np.abs(found[name] - expected)  # [R, ...], or [R, S, ...] per position
        if name in KINDS[servable.kind].per_position:
            difference = difference[features["input_mask"].numpy() > 0]
        differences[name] = float(difference.max())
    return differences
