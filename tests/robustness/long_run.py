"""Sends requests to exported models for a long time. Not part of CI.

    python -m tests.robustness.long_run --minutes=30

Four threads send requests of mixed sizes to toy models of several kinds: to SavedModels through
TensorFlow's session, the runtime of TensorFlow Serving, and to all formats through `bert_tf.load`.
Each answer is compared with the one of the model that was exported. One request in a hundred is
hostile: of wrong types, shapes, names, or IDs, not UTF-8, or very long. It may be rejected, but the
next one must be answered. At the end, the memory of the process must not be larger than after the
first fifth of the time, except for MAX_GROWTH of it.
"""

import argparse
import importlib.util
import pathlib
import random
import statistics
import sys
import tempfile
import threading
import time
from typing import NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of the tokenizer

import bert_tf
from bert_tf.errors import InputError
from bert_tf.serving import litert, onnx, openvino, saved_model
from tests.toy_servables import PIECES, make_servable, make_tokenizer, respond

NUM_THREADS = 4
NUM_REQUESTS = 40  # For each model; they are repeated.
HOSTILE_FRACTION = 0.01
MAX_GROWTH = 0.03
SAMPLE_SECONDS = 5
TOLERANCE = 1e-4  # float32, in other kernels and batches.
KINDS = ("classifier", "tagger", "squad", "encoder", "choice")
WITHOUT_WINDOWS = ("classifier", "tagger", "encoder", "choice")  # In ONNX and OpenVINO.
REJECTIONS = (InputError, ValueError, TypeError, KeyError, tf.errors.OpError)


class Model(NamedTuple):
    """A model to call.

    Attributes:
      name: str.
      call: Function of a dict of input name to nested lists of str -> dict of arrays.
      requests: List of pairs of a request and the expected answer.
      hostile: List of functions without arguments that send a hostile request.
    """

    name: str
    call: object
    requests: list
    hostile: list


class Tally:
    """Counts of all threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.num_answers = 0
        self.num_hostile = 0
        self.num_rejected = 0
        self.wrong = []

    def add(self, **counts):
        with self.lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)


def create_text(generator):
    """Creates a text of 0 to 80 words, with some that are not in the vocabulary."""
    words = [piece for piece in PIECES.split() if piece.isalpha()] + [
        "caf\u00e9",
        "\u4e2d\u56fd",
        "?!",
    ]
    return " ".join(generator.choices(words, k=generator.choice([0, 1, 3, 6, 12, 80])))


def create_request(kind, generator):
    """Creates a request of 1 to 8 rows."""
    rows = range(generator.randint(1, 8))

    def create_column():
        return [create_text(generator) for _ in rows]

    if kind == "classifier":
        return {"text_a": create_column(), "text_b": create_column()}
    if kind == "squad":
        return {"question": create_column(), "context": create_column()}
    if kind == "choice":
        # Two equal choices would be a tie.
        texts = [create_text(generator) for _ in rows]
        choices = [[f"over it {text}", f"london is {text}"] for text in texts]
        return {"text_a": create_column(), "choices": choices}
    return {"text": create_column()}


def export_models(servables, folder):
    """Writes all formats; returns a dict of name to the kind and the path."""
    paths = {}
    for kind, servable in servables.items():
        saved_model.save(servable, str(folder / kind))
        paths[f"{kind} as SavedModel"] = (kind, str(folder / kind))
    tokenizer = make_tokenizer(folder)
    for kind in KINDS:
        servable = make_servable(kind, tokenizer, layer="litert")
        path = folder / f"{kind}.tflite"
        path.write_bytes(litert.convert_servable(servable, lengths=(8, 24), batch_sizes=(1, 4)))
        paths[f"{kind} as LiteRT"] = (kind, str(path))
    for module, packages in ((openvino, ("openvino",)), (onnx, ("tf2onnx", "onnxruntime"))):
        if not all(map(importlib.util.find_spec, packages)):
            print(f"without {packages[-1]}, which is not installed")
            continue
        for kind in WITHOUT_WINDOWS:
            layer = "openvino" if module is openvino else "matrix"
            servable = make_servable(kind, tokenizer, layer, remove_padding=False)
            path = str(folder / f"{kind}{module.SUFFIX}")
            module.write(servable, path)
            paths[f"{kind} as {packages[-1]}"] = (kind, path)
    return paths


def open_session(path):
    """Returns a function that answers texts through a TensorFlow session, as a server does."""
    session = tf.compat.v1.Session(graph=tf.Graph())
    with session.graph.as_default():
        meta = tf.compat.v1.saved_model.load(session, ["serve"], f"{path}/1")
    signature = meta.signature_def["serving_default"]
    outputs = {name: info.name for name, info in signature.outputs.items()}

    def call(**texts):
        feed = {
            signature.inputs[name].name: np.array(value, dtype=object)
            for name, value in texts.items()
        }
        return session.run(outputs, feed)

    return call


def create_hostile_requests(call, request):
    """Returns functions that send variants of a request that no client should send."""
    name = next(iter(request))
    variants = [
        {name: request[name]} | {"other": ["a"]},
        request | {name: [3] * len(request[name])},
        request | {name: [None]},
        request | {name: "no list"},
        request | {name: [[["too"]], [["deep"]]]},
        request | {name: [*request[name], "one row more"]} if len(request) > 1 else {},
        request | {name: ["the \udc80 dog".encode("utf-8", "surrogatepass")] * len(request[name])},
        request | {name: [b"\xff\xfe\x00 dog"] * len(request[name])},
        request | {name: ["the dog " * 20_000] * len(request[name])},
        request | {name: ["\u0301" * 5_000] * len(request[name])},
        {each: [] for each in request},
    ]
    return [lambda variant=variant: call(**variant) for variant in variants]


def find_difference(found, expected):
    """Returns the name of an output that differs, or None."""
    for name, value in expected.items():
        other = np.asarray(found[name])
        if other.shape != value.shape:
            return name
        if name == "sequence_output":  # Undefined at padding.
            mask = expected["token_mask"][..., np.newaxis]
            other, value = other * mask, value * mask
        if value.dtype.kind == "f":
            if not np.allclose(other, value, rtol=0, atol=TOLERANCE):
                return name
        elif not np.array_equal(other.astype(value.dtype), value):
            return name
    return None


def send_requests(models, end, seed, tally):
    """Sends requests until the time `end`; the loop of a thread."""
    generator = random.Random(seed)
    while time.monotonic() < end:
        model = generator.choice(models)
        if generator.random() < HOSTILE_FRACTION:
            try:
                generator.choice(model.hostile)()
                tally.add(num_hostile=1)
            except REJECTIONS:
                tally.add(num_hostile=1, num_rejected=1)
            continue
        request, expected = generator.choice(model.requests)
        try:
            difference = find_difference(model.call(**request), expected)
        except Exception as error:  # It would end only this thread.
            difference = repr(error)
        tally.add(num_answers=1)
        if difference:
            tally.add(wrong=[f"{model.name}: {difference} of {request}"])


def measure_memory():
    """Returns the resident memory of this process in MB."""
    text = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.partition("VmRSS:")[2].split()[0]) / 1000


def create_models(folder):
    """Exports the toy models; returns the list of Models."""
    generator = random.Random(1)
    tokenizer = make_tokenizer(folder)
    servables = {kind: make_servable(kind, tokenizer) for kind in KINDS}
    requests = {
        kind: [create_request(kind, generator) for _ in range(NUM_REQUESTS)] for kind in KINDS
    }
    answers = {
        kind: [(request, respond(servables[kind], request)) for request in requests[kind]]
        for kind in KINDS
    }
    models = []
    for name, (kind, path) in export_models(servables, folder).items():
        calls = {"bert_tf.load": bert_tf.load(path)}
        if "SavedModel" in name:
            calls["session"] = open_session(path)
        for way, call in calls.items():
            hostile = create_hostile_requests(call, requests[kind][0])
            models.append(Model(f"{name} through {way}", call, answers[kind], hostile))
    return models


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=30)
    seconds = 60 * parser.parse_args().minutes
    with tempfile.TemporaryDirectory(prefix="long_run_") as folder:
        models = create_models(pathlib.Path(folder))
        print(f"{len(models)} models: {', '.join(model.name for model in models)}", flush=True)
        tally = Tally()
        start = time.monotonic()
        threads = [
            threading.Thread(target=send_requests, args=(models, start + seconds, seed, tally))
            for seed in range(NUM_THREADS)
        ]
        for thread in threads:
            thread.start()
        samples = []
        while any(thread.is_alive() for thread in threads):
            samples.append(measure_memory())
            time.sleep(min(SAMPLE_SECONDS, seconds / 20))
            if len(samples) % 12 == 0:
                minutes = (time.monotonic() - start) / 60
                print(
                    f"{minutes:.0f} min: {tally.num_answers:,} answers, {samples[-1]:.0f} MB",
                    flush=True,
                )
    fifth = max(len(samples) // 5, 1)
    first = statistics.median(samples[fifth : 2 * fifth] or samples)
    last = statistics.median(samples[-fifth:])
    print(
        f"{tally.num_answers:,} answers, {len(tally.wrong)} wrong; {tally.num_hostile:,} hostile "
        f"requests, {tally.num_rejected:,} rejected; memory {first:.0f} MB after a fifth of the "
        f"time, {last:.0f} MB at the end, at most {max(samples):.0f} MB"
    )
    for line in tally.wrong[:10]:
        print(f"{line:.200}")
    sys.exit(bool(tally.wrong) or last > (1 + MAX_GROWTH) * first)


if __name__ == "__main__":
    main()
