"""SavedModels for TensorFlow Serving: raw text or ids in, labels and probabilities out.

A SavedModel holds the weights, the tokenizer and the vocabulary, and needs nothing of this package to run;
TensorFlow Text must be there for its kernels (`import tensorflow_text`, or a server that links it).
"""

import os
import shutil

import tensorflow as tf


def export_classifier(model, tokenizer, labels, directory, *, max_seq_length=128, pairs=False, version=None):
    """Writes a BertClassifier as `directory`/`version`, the layout that TensorFlow Serving watches.

    Signatures, B texts each, any number of them:
      serving_default: "text" string [B], or "text_a" and "text_b" for pairs. Texts are cut to max_seq_length
        pieces and padded only to the longest of the request.
      ids: "input_ids", "input_mask", "segment_ids", int32 [B, S].
    Both give "label" string [B], the likeliest; "labels" string [B, num_labels], the names in the order of
    "probabilities" float32 [B, num_labels].

    Args:
      model: BertClassifier.
      tokenizer: BertTokenizer that the model was trained with.
      labels: label names in the order of their ids.
      directory: the model's folder; made if missing.
      max_seq_length: longest input in pieces, [CLS] and [SEP] included.
      pairs: whether an example is two texts.
      version: int; None takes the number after the highest there.

    Returns:
      The path of the SavedModel, which appears there only when it is whole.

    Raises:
      ValueError: a number of labels that is not the model's, or a version that exists.
    """
    if len(labels) != model.num_labels:
        raise ValueError(f"there are {len(labels)} labels, and the model has {model.num_labels} outputs")
    label_names = tf.constant(labels)

    def classify(features):
        probabilities = tf.nn.softmax(model(_without_padding(features))["logits"])
        return {
            "label": tf.gather(label_names, tf.argmax(probabilities, axis=-1)),
            "labels": tf.tile(label_names[tf.newaxis], [tf.shape(probabilities)[0], 1]),
            "probabilities": probabilities,
        }

    text_names = ("text_a", "text_b") if pairs else ("text",)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name) for name in text_names])
    def classify_text(text_a, text_b=None):
        return classify(tokenizer.encode(text_a, text_b, max_seq_length))

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, name)
                                  for name in ("input_ids", "input_mask", "segment_ids")])
    def classify_ids(input_ids, input_mask, segment_ids):
        return classify({"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids})

    module = tf.Module()
    module.weights = model.variables  # not the model itself: Keras would add its own functions for every layer
    module.tokenizer = tokenizer
    module.vocabulary = tf.saved_model.Asset(tokenizer.vocab_file)
    return _save(module, {"serving_default": classify_text, "ids": classify_ids}, directory, version)


def _without_padding(features):
    """Cuts the columns that are padding in every row."""
    longest = tf.reduce_max(tf.reduce_sum(features["input_mask"], axis=-1))
    return {name: value[:, :longest] for name, value in features.items()}


def _save(module, signatures, directory, version):
    """Saves under a name that TensorFlow Serving ignores, then renames."""
    os.makedirs(directory, exist_ok=True)
    if version is None:
        version = 1 + max((int(name) for name in os.listdir(directory) if name.isdecimal()), default=0)
    path = os.path.join(directory, str(version))
    if os.path.exists(path):
        raise ValueError(f"{path}: exists; choose another version")
    partial = path + ".partial"
    shutil.rmtree(partial, ignore_errors=True)  # of a run that was killed
    tf.saved_model.save(module, partial, signatures=signatures)
    os.rename(partial, path)
    return path
