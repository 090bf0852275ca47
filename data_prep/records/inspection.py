"""Records as text, their masks marked, and what is wrong with a file of them."""

import collections

import tensorflow as tf
from google.protobuf.message import DecodeError

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.tokenization import read_vocabulary
from data_prep.records import schema
from data_prep.records.reader import read_records


def run(files, settings, announce=print):
    """Inspects files, one after another.

    Args:
      files: paths of TFRecord files.
      settings: InspectionSettings, of which `input_file` is not looked at.
      announce: called with each text for people.

    Raises:
      InputError, OSError: as `inspect`; as `read_vocabulary`.
    """
    vocabulary = read_vocabulary(settings.vocab_file) if settings.vocab_file else None
    for path in files:
        announce(inspect(path, settings, vocabulary, announce))


def inspect(path, settings, vocabulary=None, announce=print):
    """Reads a file to its end, shows its first records and returns a line about all of them.

    Args:
      path: a TFRecord file.
      settings: InspectionSettings, of which the number of records to show and the lengths are used.
      vocabulary: list of pieces, or None to show ids.
      announce: called with the text of each record that is shown.

    Raises:
      InputError: naming the file and what is wrong: empty, truncated, damaged, records of other features or
        of other lengths, numbers that no record has, ids that are not in the vocabulary.
      OSError: the file cannot be read.
    """
    sums, layout = collections.Counter(), None
    with files.open_bytes(path) as file:
        for number, (_, record) in enumerate(read_records(path, file, files.size(path))):
            place = f"{path}, record {number:,}"
            values = _features(record, place)
            if layout is None:
                layout = _Layout(path, values, settings)
            layout.check(values, place, vocabulary)
            layout.add(values, sums)
            if number < settings.num_records:
                announce(f"{place}: {layout.describe(values)}\n  {' '.join(layout.marked_pieces(values, vocabulary))}")
    return f"{path}: {layout.summary(sums)}"


def _features(record, place):
    """dict of feature name -> its numbers; InputError unless the record is a tf.train.Example of numbers."""
    try:
        features = tf.train.Example.FromString(record).features.feature
    except DecodeError:
        raise InputError(f"{place}: is no tf.train.Example") from None
    values = {}
    for name, feature in features.items():
        kind = feature.WhichOneof("kind") or "int64_list"
        if kind == "bytes_list":
            raise InputError(f"{place}: {name} holds bytes, not numbers: this is no record for BERT")
        values[name] = getattr(feature, kind).value
    return values


class _Layout:
    """Which features a file's records have, and of which lengths, as its first record shows."""

    def __init__(self, path, values, settings):
        length, predictions = len(values.get("input_ids", ())), len(values.get("masked_lm_positions", ()))
        kinds = {"pre-training records": schema.pretraining_features(length, predictions),
                 "unmasked pre-training records": schema.unmasked_pretraining_features(length),
                 "classification records": schema.classification_features(length)}
        for kind, features in kinds.items():
            if {feature.name for feature in features} == set(values):
                self._kind = kind
                self._lengths = {feature.name: feature.length for feature in features}
                self._floats = {feature.name for feature in features if feature.is_float}
                break
        else:
            raise InputError(f"{path}: its records have the features {', '.join(sorted(values))}: neither those of "
                             f"{' nor of '.join(kinds)}")
        if not length:
            raise InputError(f"{path}: input_ids of its records are empty")
        self._sizes = {"max_seq_length": length}
        if kind == "pre-training records":
            self._sizes["max_predictions_per_seq"] = predictions
        for name, size in self._sizes.items():
            wanted = getattr(settings, name)
            if wanted not in (None, size):
                raise InputError(f"{path}: its records were made with `{name}`={size}, not {wanted}")

    def check(self, values, place, vocabulary):
        """Raises InputError unless a record has the features of the first one, and numbers that can be theirs."""
        lengths = {name: len(numbers) for name, numbers in values.items()}
        if lengths != self._lengths:
            name = next(name for name in sorted({*lengths, *self._lengths})
                        if lengths.get(name) != self._lengths.get(name))
            raise InputError(f"{place}: {name} has {lengths.get(name, 0)} numbers, not {self._lengths.get(name, 0)}")
        for name, numbers in values.items():
            if numbers and isinstance(numbers[0], float) != (name in self._floats):
                raise InputError(f"{place}: {name} holds {'integers' if name in self._floats else 'floats'}, not "
                                 f"{'floats' if name in self._floats else 'integers'}")
            if name != "label_ids" and min(numbers, default=0) < 0:
                raise InputError(f"{place}: {name} holds {min(numbers)}, which is negative")
        if max(values["input_mask"]) > 1:
            raise InputError(f"{place}: input_mask holds {max(values['input_mask'])}, which is neither 0 nor 1")
        if max(values.get("masked_lm_positions", ()), default=0) >= lengths["input_ids"]:
            raise InputError(f"{place}: masked_lm_positions holds {max(values['masked_lm_positions'])}, beyond the end")
        for name in ("input_ids", "masked_lm_ids"):
            highest = max(values.get(name, ()), default=0)
            if vocabulary and highest >= len(vocabulary):
                raise InputError(f"{place}: {name} holds {highest}, and `vocab_file` has {len(vocabulary):,} entries: "
                                 f"the records were made with another vocabulary")

    def add(self, values, sums):
        """Adds a record to the sums that `summary` takes."""
        sums["records"] += 1
        sums["real"] += sum(values["input_mask"])
        sums["masked"] += int(sum(values.get("masked_lm_weights", ())))
        sums["random"] += sum(values.get("next_sentence_labels", ()))
        for label in values.get("label_ids", ()):
            sums["label", label] += 1

    def summary(self, sums):
        """A line about all records."""
        sizes = ", ".join(f"{name} {size}" for name, size in self._sizes.items())
        shares = [f"{sums['real'] / (sums['records'] * self._sizes['max_seq_length']):.1%} of their ids are real"]
        if "masked_lm_positions" in self._lengths:
            shares.append(f"{sums['masked'] / max(1, sums['real']):.1%} of these masked")
        if "next_sentence_labels" in self._lengths:
            shares.append(f"{sums['random'] / sums['records']:.1%} random next")
        else:
            labels = sorted(key[1] for key in sums if isinstance(key, tuple))
            shares.append("labels " + ", ".join(f"{label} ({sums['label', label]:,})" for label in labels))
        return f"{sums['records']:,} {self._kind}, {sizes}: {', '.join(shares)}"

    def describe(self, values):
        """The line about one record."""
        parts = [f"{sum(values['input_mask'])} of {len(values['input_ids'])} ids are real"]
        if "masked_lm_positions" in values:
            parts.append(f"{int(sum(values['masked_lm_weights']))} masked")
        if "next_sentence_labels" in values:
            parts.append("random next" if values["next_sentence_labels"][0] else "actual next")
        else:
            parts.append(f"label {values['label_ids'][0]}"
                         + ("" if values["is_real_example"][0] else ", only fills a batch up"))
        return ", ".join(parts)

    def marked_pieces(self, values, vocabulary):
        """The pieces of a record without its padding; a masked one as "{to predict -> what stands there}"."""
        name = (lambda index: vocabulary[index]) if vocabulary else str
        pieces = [name(index) for index in values["input_ids"]]
        for position, index, weight in zip(*(values.get(f"masked_lm_{part}", ()) for part in
                                             ("positions", "ids", "weights")), strict=True):
            if weight:
                pieces[position] = f"{{{name(index)} -> {pieces[position]}}}"
        return pieces[:sum(values["input_mask"])]
