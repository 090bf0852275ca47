"""Inspection of record files: prints records with their masks marked, and reports errors in the file."""

import collections
import math

import tensorflow as tf
from google.protobuf.message import DecodeError

from bert_tf import files
from bert_tf.cli import paths
from bert_tf.errors import InputError
from bert_tf.tokenization import read_vocabulary
from data_prep.records import schema
from data_prep.records.reader import read_records


def run(settings):
    """Inspects files in sequence.

    Args:
      settings: InspectionSettings.

    Raises:
      InputError, OSError: See `inspect` and `read_vocabulary`.
    """
    paths_to_read = paths.expand_globs("input_file", settings.input_file, folders=True)
    vocabulary = read_vocabulary(settings.vocab_file) if settings.vocab_file else None
    for path in paths_to_read:
        print(inspect(path, settings, vocabulary))


def inspect(path, settings, vocabulary=None):
    """Reads a complete file, prints its first records, and returns a one-line summary of all records.

    Args:
      path: Path of a TFRecord file.
      settings: InspectionSettings. Provides the number of records to print and the expected lengths.
      vocabulary: List of tokens. If None, prints IDs.

    Raises:
      InputError: If the file is empty, truncated, or damaged; if its records have other features or other lengths; or
        if they have impossible numbers or IDs outside the vocabulary. The message names the file and the problem.
      OSError: If the file cannot be read.
    """
    sums, layout = collections.Counter(), None
    with files.at(path).open() as file:
        for number, (_, record) in enumerate(read_records(path, file, files.at(path).size())):
            place = f"{path}, record {number:,}"
            values = _parse_record(record, place)
            if layout is None:
                layout = _Layout(path, values, settings)
            layout.check(values, place, vocabulary)
            layout.add(values, sums)
            if number < settings.num_records:
                print(f"{place}: {layout.describe(values)}\n  {' '.join(layout.mark_tokens(values, vocabulary))}")
    return f"{path}: {layout.summarize(sums)}"


def _parse_record(record, place):
    """Returns dict of feature name to its numbers; raises InputError unless it is a numeric tf.train.Example."""
    try:
        features = tf.train.Example.FromString(record).features.feature
    except DecodeError:
        raise InputError(f"{place}: is not a tf.train.Example") from None
    values = {}
    for name, feature in features.items():
        kind = feature.WhichOneof("kind") or "int64_list"
        if kind == "bytes_list":
            raise InputError(f"{place}: {name} contains bytes, not numbers; this is not a record for BERT")
        values[name] = getattr(feature, kind).value
    return values


SENTENCE_LABELS = {"next_sentence": ("actual next", "random next"), "sentence_order": ("in order", "swapped"), None: ()}


def _list_kinds(values):
    """Yields (name of the kind, its features, prefix of its sequence label) for each possible kind of record."""
    length, predictions = len(values.get("input_ids", ())), len(values.get("masked_lm_positions", ()))
    for label in SENTENCE_LABELS:
        for most_packed in (0, len(values.get(f"{label}_positions", ())) or (1 if label is None else 0)):
            packed = "packed " if most_packed else ""
            label_options = {"sentence_label": label, "most_packed": most_packed}
            yield f"{packed}pre-training records", schema.pretraining_features(
                length, predictions, **label_options), label
            yield f"unmasked {packed}pre-training records", schema.unmasked_pretraining_features(
                length, **label_options), label
    yield "classification records", schema.classification_features(length), None


class _Layout:
    """The features of a file's records and their lengths, taken from its first record."""

    def __init__(self, path, values, settings):
        for self._kind, features, self._label in _list_kinds(values):
            if {feature.name for feature in features} == set(values):
                self._lengths = {feature.name: feature.length for feature in features}
                self._floats = {feature.name for feature in features if feature.is_float}
                break
        else:
            raise InputError(f"{path}: its records have the features {', '.join(sorted(values))}; must be pre-training "
                             "records, packed or not, masked or unmasked, or classification records")
        if not self._lengths["input_ids"]:
            raise InputError(f"{path}: its records have empty input_ids")
        self._is_packed = "positions" in self._lengths
        self._sizes = {"max_seq_length": self._lengths["input_ids"]}
        if "masked_lm_positions" in self._lengths:
            self._sizes["max_predictions_per_seq"] = self._lengths["masked_lm_positions"]
        for name, size in self._sizes.items():
            expected_size = getattr(settings, name)
            if expected_size not in (None, size):
                raise InputError(f"{path}: its records were created with `{name}`={size}, not {expected_size}")
        if settings.max_predictions_per_seq is not None and "max_predictions_per_seq" not in self._sizes:
            raise InputError(f"has no effect on the records of {path}, which contain no masks; omit it",
                             "max_predictions_per_seq", settings.max_predictions_per_seq)

    def check(self, values, place, vocabulary):
        """Raises InputError unless a record has the features of the first one, with valid numbers."""
        lengths = {name: len(numbers) for name, numbers in values.items()}
        if lengths != self._lengths:
            name = next(name for name in sorted({*lengths, *self._lengths})
                        if lengths.get(name) != self._lengths.get(name))
            raise InputError(f"{place}: {name} has {lengths.get(name, 0)} numbers, not {self._lengths.get(name, 0)}")
        for name, numbers in values.items():
            expected, other = ("floats", "integers") if name in self._floats else ("integers", "floats")
            if numbers and isinstance(numbers[0], float) != (name in self._floats):
                raise InputError(f"{place}: {name} contains {other}, not {expected}")
            if name != "label_ids" and min(numbers, default=0) < 0:
                raise InputError(f"{place}: {name} contains {min(numbers)}; must not be negative")
        for name in self._floats:
            invalid = next((number for number in values[name] if not math.isfinite(number)), None)
            if invalid is not None:
                raise InputError(f"{place}: {name} contains {invalid}; must be finite")
        for name, highest, problem in self._list_limits(vocabulary):
            largest = max(values.get(name, ()), default=0)
            if largest > highest:
                raise InputError(f"{place}: {name} contains {largest}; must be {problem}")

    def _list_limits(self, vocabulary):
        """Yields (feature, its maximum, end of the message for a larger number) in the order of the checks."""
        length, binary = self._lengths["input_ids"], "0 or 1"
        yield f"{self._label}_labels", 1, binary
        most_packed = self._lengths.get(f"{self._label}_positions", length)
        yield "input_mask", *((most_packed, f"at most {most_packed}, the maximum number of sequences per record")
                              if self._is_packed else (1, binary))
        for name in ("positions", "masked_lm_positions", f"{self._label}_positions"):
            yield name, length - 1, f"less than {length}, the length of the record"
        for name in ("input_ids", "masked_lm_ids") if vocabulary else ():
            yield name, len(vocabulary) - 1, (f"less than {len(vocabulary):,}, the size of `vocab_file`; set the "
                                              "vocabulary that the records were created with")

    def add(self, values, sums):
        """Adds a record to the sums for `summarize`."""
        sums["records"] += 1
        sums["sequences"] += max(values["input_mask"])
        sums["tokens"] += _count_tokens(values)
        sums["masked"] += int(sum(values.get("masked_lm_weights", ())))
        sums["label 1"] += sum(values.get(f"{self._label}_labels", ()))
        for label in values.get("label_ids", ()):
            sums["label", label] += 1

    def summarize(self, sums):
        """Returns a one-line summary of all records."""
        sizes = ", ".join(f"{name} {size}" for name, size in self._sizes.items())
        statistics = [f"{sums['tokens'] / (sums['records'] * self._sizes['max_seq_length']):.1%} non-padding tokens"]
        if "masked_lm_positions" in self._lengths:
            statistics.append(f"{sums['masked'] / max(1, sums['tokens']):.1%} of these masked")
        if self._is_packed:
            statistics.insert(0, f"{sums['sequences'] / sums['records']:.2f} sequences per record")
        if self._label:
            statistics.append(f"{sums['label 1'] / max(1, sums['sequences']):.1%} {SENTENCE_LABELS[self._label][1]}")
        if "label_ids" in self._lengths:
            labels = sorted(key[1] for key in sums if isinstance(key, tuple))
            statistics.append("labels " + ", ".join(f"{label} ({sums['label', label]:,})" for label in labels))
        return f"{sums['records']:,} {self._kind}, {sizes}: {', '.join(statistics)}"

    def describe(self, values):
        """Returns a one-line description of a record."""
        parts = [f"{_count_tokens(values)} of {len(values['input_ids'])} tokens are non-padding"]
        num_sequences = max(values["input_mask"])
        if self._is_packed:
            parts.append(f"{num_sequences} sequence{'' if num_sequences == 1 else 's'}")
        if "masked_lm_positions" in values:
            parts.append(f"{int(sum(values['masked_lm_weights']))} masked")
        if self._label:
            labels = values[f"{self._label}_labels"][:num_sequences if self._is_packed else 1]
            parts += [SENTENCE_LABELS[self._label][min(label, 1)] for label in labels]
        if "label_ids" in values:
            parts.append(f"label {values['label_ids'][0]}"
                         + ("" if values["is_real_example"][0] else ", only pads a batch"))
        return ", ".join(parts)

    def mark_tokens(self, values, vocabulary):
        """Returns the non-padding tokens of a record; masked ones as "{label -> input}".

        A "|" separates packed sequences.
        """
        name = (lambda index: vocabulary[index]) if vocabulary else str
        tokens = [name(index) for index in values["input_ids"]]
        for position, index, weight in zip(*(values.get(f"masked_lm_{part}", ()) for part in
                                             ("positions", "ids", "weights")), strict=True):
            if weight:
                tokens[position] = f"{{{name(index)} -> {tokens[position]}}}"
        for place, position in enumerate(values.get("positions", ())):
            if place and not position:
                tokens[place] = f"| {tokens[place]}"
        return tokens[:_count_tokens(values)]


def _count_tokens(values):
    """Returns the number of non-padding tokens of a record."""
    return sum(number > 0 for number in values["input_mask"])
