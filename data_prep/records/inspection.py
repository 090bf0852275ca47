"""Inspection of record files: prints records with their masks marked, and reports errors."""

import collections

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
    paths_to_read = paths.expand_globs("input_file", settings.input_file)
    vocabulary = read_vocabulary(settings.vocab_file) if settings.vocab_file else None
    for path in paths_to_read:
        print(inspect(path, settings, vocabulary))


def inspect(path, settings, vocabulary=None):
    """Reads a complete file, and prints its first records.

    Args:
      path: Path of a TFRecord file.
      settings: InspectionSettings. Provides the number of records to print and the expected
        lengths.
      vocabulary: List of tokens. If None, prints IDs.

    Returns:
      str. One-line summary of all records.

    Raises:
      InputError: If the file is empty, truncated, or damaged; if its records have other features or
        other lengths; or if they have negative numbers, or positions or IDs that do not exist. The
        message names the file and the problem.
      OSError: If the file cannot be read.
    """
    sums = collections.Counter()
    layout = None
    with files.at(path).open() as file:
        for number, (_, record) in enumerate(read_records(path, file, files.at(path).size())):
            where = f"{path}, record {number:,}"
            try:
                features = tf.train.Example.FromString(record).features.feature
            except DecodeError:
                raise InputError(f"{where}: is not a tf.train.Example") from None
            if layout is None:
                layout = _Layout(path, features, settings)
            values = layout.read(features, where, vocabulary)
            layout.add(values, sums)
            if number < settings.num_records:
                print(
                    f"{where}: {layout.describe(values)}\n  "
                    f"{' '.join(layout.mark_tokens(values, vocabulary))}"
                )
    return f"{path}: {layout.summarize(sums)}"


class _Layout:
    """The features of a file's records and their lengths, taken from its first record."""

    def __init__(self, path, features, settings):
        length, predictions = (
            len(features[name].int64_list.value) if name in features else 0
            for name in ("input_ids", "masked_lm_positions")
        )
        self._label = next(
            (label for label in schema.SENTENCE_LABELS if f"{label}_labels" in features), None
        )
        self._is_packed = "positions" in features
        has_masks = "masked_lm_positions" in features
        max_packed = int(self._is_packed)
        if self._is_packed and self._label:
            max_packed = len(features[f"{self._label}_labels"].int64_list.value)
        expected = schema.pretraining_features(
            length, predictions, sentence_label=self._label, max_packed=max_packed
        )
        if not has_masks:
            expected = schema.unmasked_pretraining_features(
                length, sentence_label=self._label, max_packed=max_packed
            )
        properties = ["" if has_masks else "unmasked ", "packed " if self._is_packed else ""]
        self._description = f"{''.join(properties)}pre-training records"
        if "label_ids" in features:
            expected = schema.classification_features(length)
            self._description = "classification records"
        self._lengths = {feature.name: feature.length for feature in expected}
        self._floats = {feature.name for feature in expected if feature.is_float}
        if self._lengths.keys() != set(features):
            raise InputError(
                f"{path}: its records have the features {', '.join(sorted(features))}; must be "
                "pre-training records, packed or not, masked or unmasked, or classification records"
            )
        if not length:
            raise InputError(f"{path}: its records have empty input_ids")
        self._sizes = {"max_seq_length": length, "max_predictions_per_seq": predictions}
        for name, size in self._sizes.items():
            expected_size = getattr(settings, name)
            if expected_size not in (None, size):
                raise InputError(
                    f"{path}: its records were created with `{name}`={size}, not {expected_size}"
                )

    def read(self, features, where, vocabulary):
        """Returns dict of feature name to the numbers of a record.

        Raises:
          InputError: If the record has other features than the first one, or invalid numbers.
        """
        values = {
            name: (feature.float_list if name in self._floats else feature.int64_list).value
            for name, feature in features.items()
        }
        lengths = {name: len(numbers) for name, numbers in values.items()}
        if lengths != self._lengths:
            name = next(
                name
                for name in sorted({*lengths, *self._lengths})
                if lengths.get(name) != self._lengths.get(name)
            )
            raise InputError(
                f"{where}: {name} has {lengths.get(name, 0)} numbers, not "
                f"{self._lengths.get(name, 0)}"
            )
        for name, numbers in values.items():
            if name != "label_ids" and min(numbers, default=0) < 0:
                raise InputError(f"{where}: {name} contains {min(numbers)}; must not be negative")
        bounds = {"masked_lm_positions": (self._lengths["input_ids"], "the length of the record")}
        if vocabulary:
            advice = "set the vocabulary that the records were created with"
            bound = (len(vocabulary), f"the size of `vocab_file`; {advice}")
            bounds |= {"input_ids": bound, "masked_lm_ids": bound}
        for name, (bound, meaning) in bounds.items():
            largest = max(values.get(name, ()), default=0)
            if largest >= bound:
                raise InputError(
                    f"{where}: {name} contains {largest}; must be less than {bound:,}, {meaning}"
                )
        return values

    def add(self, values, sums):
        """Adds a record to the sums for `summarize`."""
        sums["records"] += 1
        sums["sequences"] += max(values["input_mask"])
        sums["tokens"] += _count_positive(values["input_mask"])
        sums["masked"] += _count_positive(values.get("masked_lm_weights", ()))
        sums["label 1"] += sum(values.get(f"{self._label}_labels", ()))
        for label in values.get("label_ids", ()):
            sums["label", label] += 1

    def summarize(self, sums):
        """Returns a one-line summary of all records."""
        sizes = ", ".join(f"{name} {size}" for name, size in self._sizes.items() if size)
        statistics = [
            f"{sums['tokens'] / (sums['records'] * self._sizes['max_seq_length']):.1%} "
            "non-padding tokens"
        ]
        if "masked_lm_positions" in self._lengths:
            statistics.append(f"{sums['masked'] / max(1, sums['tokens']):.1%} of these masked")
        if self._is_packed:
            statistics.insert(0, f"{sums['sequences'] / sums['records']:.2f} sequences per record")
        if self._label:
            statistics.append(
                f"{sums['label 1'] / max(1, sums['sequences']):.1%} "
                f"{schema.SENTENCE_LABELS[self._label][1]}"
            )
        if "label_ids" in self._lengths:
            labels = sorted(key[1] for key in sums if isinstance(key, tuple))
            statistics.append(
                "labels " + ", ".join(f"{label} ({sums['label', label]:,})" for label in labels)
            )
        return f"{sums['records']:,} {self._description}, {sizes}: {', '.join(statistics)}"

    def describe(self, values):
        """Returns a one-line description of a record."""
        parts = [
            f"{_count_positive(values['input_mask'])} of {len(values['input_ids'])} tokens are "
            "non-padding"
        ]
        num_sequences = max(values["input_mask"])
        if self._is_packed:
            parts.append(f"{num_sequences} sequence{'' if num_sequences == 1 else 's'}")
        if "masked_lm_positions" in values:
            parts.append(f"{_count_positive(values['masked_lm_weights'])} masked")
        if self._label:
            labels = values[f"{self._label}_labels"][: num_sequences if self._is_packed else 1]
            parts += [schema.SENTENCE_LABELS[self._label][min(label, 1)] for label in labels]
        if "label_ids" in values:
            parts.append(f"label {values['label_ids'][0]}")
            if not values["is_real_example"][0]:
                parts.append("only pads a batch")
        return ", ".join(parts)

    def mark_tokens(self, values, vocabulary):
        """Returns the non-padding tokens of a record; masked ones as "{label -> input}".

        A "|" separates packed sequences.
        """
        name = (lambda index: vocabulary[index]) if vocabulary else str
        tokens = [name(index) for index in values["input_ids"]]
        masks = zip(
            *(values.get(f"masked_lm_{part}", ()) for part in ("positions", "ids", "weights")),
            strict=True,
        )
        for position, index, weight in masks:
            if weight:
                tokens[position] = f"{{{name(index)} -> {tokens[position]}}}"
        for index, position in enumerate(values.get("positions", ())):
            if index and not position:
                tokens[index] = f"| {tokens[index]}"
        return tokens[: _count_positive(values["input_mask"])]


def _count_positive(numbers):
    return sum(number > 0 for number in numbers)
