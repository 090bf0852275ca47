"""Sends valid and hostile requests to a served model from 8 concurrent callers.

    python -m tests.robustness.soak.served FOLDER SECONDS

Fails if the answer to a valid request changes, if a hostile request causes anything except an answer or an invalid
argument error, or if memory grows. TensorFlow 2.20 in Python leaks almost a kilobyte per error of any operation. This
leak is measured first and subtracted.
"""

import collections
import contextlib
import os
import random
import sys
import time
from concurrent import futures

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of the tokenizer

CALLERS = 8
MOST_GROWTH = 1.1  # Resident memory in the last quarter of the time, divided by the second quarter.
VALID = [["the line stops"], ["a", "the debugger stops at a line , not here"], ["the " * 30, "", "b"]]


def _example(**features):
    return tf.train.Example(features=tf.train.Features(feature={
        name: tf.train.Feature(int64_list=tf.train.Int64List(value=values)) for name, values in features.items()}
    )).SerializeToString()


def _ids(*rows):
    return {name: tf.constant(rows, tf.int32) for name in ("input_ids", "input_mask", "segment_ids")}


HOSTILE = [  # signature, inputs
    ("serving_default", {"text": tf.constant(["x" * 200_000])}),
    ("serving_default", {"text": tf.constant([b"\xff\xfe\x00" * 999, b""])}),
    ("serving_default", {"text": tf.zeros([0], tf.string)}),
    ("serving_default", {"text": tf.constant([" " * 50_000, "a " * 20_000])}),
    ("ids", _ids([10**9, 1])), ("ids", _ids([-1])), ("ids", _ids([1] * 500)), ("ids", _ids([])),
    ("tf_example", {"examples": tf.constant([b"\x00garbage"])}),
    ("tf_example", {"examples": tf.constant([_example()])}),
    ("tf_example", {"examples": tf.constant([_example(input_ids=[2**32 + 5], input_mask=[1], segment_ids=[0])])}),
    ("tf_example", {"examples": tf.constant([_example(input_ids=[1, 2], input_mask=[1], segment_ids=[0])])}),
]


def get_resident_memory():
    """Returns the memory of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure_leak(errors=5000):
    """Returns the bytes that TensorFlow leaks per error of a simple operation."""
    for number in range(2 * errors):
        if number == errors:
            before = get_resident_memory()
        with contextlib.suppress(tf.errors.InvalidArgumentError):
            tf.gather([1], [1])
    return (get_resident_memory() - before) / errors


def main(folder, seconds):
    leak = measure_leak()
    loaded = tf.saved_model.load(folder)
    answer = loaded.signatures["serving_default"]
    expected = [{name: value.numpy() for name, value in answer(text=tf.constant(texts)).items()} for texts in VALID]
    until, counters = time.monotonic() + seconds, [collections.Counter() for _ in range(CALLERS)]

    def call(seed, counter):
        rng = random.Random(seed)
        while time.monotonic() < until:
            if rng.random() < 0.3:
                signature, inputs = rng.choice(HOSTILE)
                counter["hostile"] += 1
                try:
                    loaded.signatures[signature](**inputs)
                except tf.errors.InvalidArgumentError:
                    counter["rejected"] += 1
            else:
                number = rng.randrange(len(VALID))
                for name, value in answer(text=tf.constant(VALID[number])).items():
                    np.testing.assert_array_equal(value, expected[number][name])
                counter["valid"] += 1

    samples = []
    with futures.ThreadPoolExecutor(CALLERS) as pool:
        callers = [pool.submit(call, seed, counter) for seed, counter in enumerate(counters)]
        while not all(each.done() for each in callers):
            samples.append(get_resident_memory() - leak * sum(each["rejected"] for each in counters))
            time.sleep(min(1.0, seconds / 40))
    for each in callers:
        each.result()  # Raises the error of a caller.
    counts, quarter = sum(counters, collections.Counter()), len(samples) // 4
    growth = np.median(samples[-quarter:]) / np.median(samples[quarter : 2 * quarter])
    print(f"served model, {CALLERS} callers, {seconds:.0f} s: {counts['valid']:,} unchanged answers to valid requests, "
          f"{counts['hostile']:,} hostile requests, {counts['rejected']:,} rejected; {samples[-1] / 1e6:.0f} MB of "
          f"memory, {growth:.3f} times the second quarter's, without {leak:.0f} bytes per error")
    sys.exit(int(growth > MOST_GROWTH))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
