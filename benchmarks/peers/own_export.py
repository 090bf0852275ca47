"""Exports of this project, from IDs to the outputs of the encoder."""

from bert_tf.features import FEATURES


class Peer:
    """An exported encoder.

    Args:
      path: Path of a .xml or .tflite file, or directory of a SavedModel.
    """

    def __init__(self, path):
        if path.endswith(".tflite"):
            from bert_tf.serving.buckets import Buckets

            buckets = Buckets(path)
            self._answer = lambda features: buckets.run(make_rows(features))
            return
        if path.endswith(".xml"):
            from bert_tf.serving import openvino

            self._answer = openvino.open_model(path).compute_outputs
            return
        import tensorflow as tf

        from bert_tf.serving import exports, saved_model

        loaded = saved_model.load_saved_model(exports.find_latest_version(path))
        signature = loaded.signatures["ids"]
        self._loaded = loaded  # It keeps the variables of its signatures.
        self._answer = lambda features: signature(
            **{name: tf.constant(features[name]) for name in FEATURES}
        )

    def answer(self, features):
        """Computes the outputs for a dict of name to int32 array [B, S]."""
        self._answer(features)


def make_rows(features):
    """Returns the Rows of a dict of name to int32 array [B, S] without padding."""
    from bert_tf.tokenization.plain import Row

    pairs = zip(features["input_ids"].tolist(), features["segment_ids"].tolist(), strict=True)
    return [Row(ids, segments, False) for ids, segments in pairs]
