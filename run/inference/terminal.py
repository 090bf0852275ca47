"""Asking a model from the terminal, one loaded from a checkpoint or a SavedModel: what fill_mask and answer share."""

import os
import statistics
import sys
import time

from absl import flags

from bert_tf.errors import InputError
from run.inference import loading

flags.disclaim_key_flags()

LATENCY_CALLS = 20


def define_flags():
    """The SavedModel, and how long it takes."""
    flags.DEFINE_string(
        "saved_model", None, "A folder that export_saved_model wrote, with version or without (the newest is taken), "
                             "in place of --init_checkpoint and all that goes with it.")
    flags.DEFINE_bool("latency", False, f"At the end, ask the last question {LATENCY_CALLS} times more and say how "
                                        "long an answer takes.")


class Model:
    """A model's signature serving_default, from a checkpoint or a SavedModel alike.

    Attributes:
      limit: str, what limits the length of a text, for messages.
    """

    def __init__(self, signature, limit):
        self.limit = limit
        self._signature = signature
        self._last = None

    def __call__(self, **texts):
        """Lists of str -> dict of NumPy arrays."""
        import tensorflow as tf

        self._last = texts
        answer = self._signature(**{name: tf.constant(value) for name, value in texts.items()})
        return {name: value.numpy() for name, value in answer.items()}

    def latency(self):
        """The median seconds of LATENCY_CALLS answers to the last request; None if there was none."""
        if self._last is None:
            return None
        seconds = []
        for _ in range(LATENCY_CALLS):
            start = time.perf_counter()
            self(**self._last)
            seconds.append(time.perf_counter() - start)
        return statistics.median(seconds)


def load(kind, given):
    """The Model that the flags describe.

    Args:
      kind: what it has to be, one of servables.KINDS.
      given: dict of the flags that were given and their values.

    Raises:
      InputError: both or neither of --saved_model and --init_checkpoint; a model of another kind.
    """
    if given.get("saved_model"):
        if given.get("init_checkpoint"):
            raise InputError(f"--init_checkpoint={given['init_checkpoint']}: --saved_model has its own weights; give "
                             "one of them")
        return _load_saved_model(kind, given["saved_model"], given.get("top_k"))
    if not given.get("init_checkpoint"):
        raise InputError("--init_checkpoint is needed, or --saved_model")
    servable, settings = loading.load(given["init_checkpoint"], {**given, "task": kind}, remove_padding=False)
    return Model(servable.signatures()["serving_default"], f"--max_seq_length={settings.max_seq_length}")


def lines():
    """Yields the lines of standard input; bytes that are not UTF-8 are dropped, as the tokenizer drops them."""
    sys.stdin.reconfigure(errors="ignore")
    for line in sys.stdin:
        yield line.rstrip("\n")


def report_latency(model, is_asked):
    """Prints how long an answer takes, if `is_asked`."""
    seconds = model.latency() if is_asked else None
    if seconds is not None:
        print(f"an answer takes {seconds * 1000:.1f} ms (median of {LATENCY_CALLS})")


def _load_saved_model(kind, folder, top_k):
    path = newest_version(folder)
    import tensorflow as tf
    import tensorflow_text  # noqa: F401, registers the tokenizer's kernels

    signature = tf.saved_model.load(path).signatures["serving_default"]
    candidates = signature.structured_outputs.get({"masked_lm": "pieces", "span_labeler": "answers"}[kind])
    if candidates is None:
        raise InputError(f"--saved_model={folder}: is not of a {kind}")
    if top_k and top_k > candidates.shape[-1]:
        raise InputError(f"--top_k={top_k}: {path} was exported with --top_k={candidates.shape[-1]}")
    return Model(signature, path)


def newest_version(folder):
    """The folder itself, or that of the highest version in it, which holds a saved_model.pb; InputError without one."""
    versions = sorted((int(name) for name in (os.listdir(folder) if os.path.isdir(folder) else ()) if name.isdecimal()),
                      reverse=True)
    for path in (folder, *(os.path.join(folder, str(version)) for version in versions)):
        if os.path.isfile(os.path.join(path, "saved_model.pb")):
            return path
    raise InputError(f"--saved_model={folder}: holds no SavedModel (looked for saved_model.pb)")
