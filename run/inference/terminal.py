"""Texts from the terminal, answers into it, by a checkpoint or an export alike: what fill_mask and answer do."""

import itertools
import os
import statistics
import sys
import time

import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer

from bert_tf import files
from bert_tf.errors import InputError
from run.inference import loading
from run.inference.settings import LATENCY_CALLS, MASK


class AnsweringModel:
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
    """The AnsweringModel that settings describe.

    Args:
      kind: what it has to be, a key of loading.SERVED.
      given: dict of the settings that were given and their values.

    Raises:
      InputError: both or neither of saved_model and init_checkpoint; a model of another kind.
    """
    if given.get("saved_model"):
        if given.get("init_checkpoint"):
            raise InputError(f"`init_checkpoint`={given['init_checkpoint']}: `saved_model` has its own weights; give "
                             "one of them")
        return _load_saved_model(kind, given["saved_model"], given.get("top_k"))
    if not given.get("init_checkpoint"):
        raise InputError("`init_checkpoint` is needed, or `saved_model`")
    servable, served = loading.load(given["init_checkpoint"], {**given, "task": kind}, remove_padding=False)
    return AnsweringModel(servable.signatures()["serving_default"],
                          f"--max_seq_length={served.metadata.max_seq_length}")


def lines():
    """Yields the lines of standard input; bytes that are not UTF-8 are dropped, as the tokenizer drops them."""
    sys.stdin.reconfigure(errors="ignore")
    for line in sys.stdin:
        yield line.rstrip("\n")


def fill_masks(model, texts, top_k):
    """Prints what a masked LM, an AnsweringModel, would put for each [MASK] of each of `texts`."""
    for text in texts:
        print(text)
        if MASK not in text:  # the next line may be better
            print(f"  --text={text}: has no {MASK}")
            continue
        answer = model(text=[text])
        for mask in range(answer["num_masks"][0]):
            candidates = zip(answer["pieces"][0, mask], answer["probabilities"][0, mask], strict=True)
            print("  " + "   ".join(f"{piece.decode()} {probability:.3f}"
                                    for piece, probability in itertools.islice(candidates, top_k)))
        if answer["was_cut"][0]:
            print(f"  the text was cut, and perhaps a {MASK} with it: {model.limit} allows fewer pieces")


def answer_questions(model, questions, context, top_k):
    """Prints what a span labeler, an AnsweringModel, answers to each of `questions` about `context`."""
    for question in questions:
        print(question)
        answer = model(question=[question], context=[context])
        text, start, end = (answer[name][0] for name in ("answer", "start", "end"))
        print(f"  {text.decode()}  [{start}:{end}]" if end else "  no answer")
        shown = [(candidate, score) for candidate, score in zip(answer["answers"][0], answer["scores"][0], strict=True)
                 if candidate]
        for candidate, score in shown[:top_k]:
            print(f"  {score:8.3f}  {candidate.decode()}")
        if answer["was_cut"][0]:
            print(f"  the question or the context is longer than {model.limit} allows, and was cut")


def report_latency(model):
    """Prints how long an answer takes, if there was a question."""
    seconds = model.latency()
    if seconds is not None:
        print(f"an answer takes {seconds * 1000:.1f} ms (median of {LATENCY_CALLS})")


def _load_saved_model(kind, folder, top_k):
    path = newest_version(folder)
    signature = tf.saved_model.load(path).signatures.get("serving_default")
    outputs = signature.structured_outputs if signature else {}
    if not loading.SERVED[kind].answers <= outputs.keys():
        raise InputError(f"`saved_model`={folder}: is not of a {kind}")
    num_candidates = outputs["pieces" if kind == "masked_lm" else "answers"].shape[-1]
    if top_k and top_k > num_candidates:
        raise InputError(f"`top_k`={top_k}: {path} was exported with `top_k`={num_candidates}")
    return AnsweringModel(signature, path)


def newest_version(folder, argument="saved_model"):
    """The folder itself, or that of the highest version in it, which holds a saved_model.pb; InputError without one."""
    names = files.names_in(folder) if files.is_dir(folder) else ()
    versions = sorted((int(name) for name in names if name.isdecimal()), reverse=True)
    for path in (folder, *(os.path.join(folder, str(version)) for version in versions)):
        if files.is_file(os.path.join(path, "saved_model.pb")):
            return path
    raise InputError(f"`{argument}`={folder}: holds no SavedModel (looked for saved_model.pb)")
