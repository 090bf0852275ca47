"""Prints records as text, with their masks marked, or says what is wrong with a file.

    python -m data_prep.inspect_records train.tfrecord --vocab_file=vocab.txt --max_seq_length=128

Every record of each file is checked: its checksums, its features, their lengths. `{may -> [MASK]}` marks a masked
position: "may" is to be predicted, "[MASK]" stands there. Without --vocab_file, ids stand for pieces.
"""

import collections

from absl import flags

from bert_tf.cli import paths, script
from bert_tf.errors import InputError

FLAGS = flags.FLAGS


def define_flags():
    """Defines this script's flags."""
    flags.DEFINE_string("input_file", None, "TFRecord files: comma-separated paths or glob patterns; they may be named "
                                            "without this flag, too.")
    flags.DEFINE_string("vocab_file", None, "Vocabulary with which the records were made.")
    flags.DEFINE_integer("num_records", 3, "How many records of each file are printed.", lower_bound=0)
    flags.DEFINE_integer("max_seq_length", None, "What the records must have been made with; unless given, what the "
                                                 "first one has.")
    flags.DEFINE_integer("max_predictions_per_seq", None, "What the records must have been made with; unless given, "
                                                          "what the first one has.")


def main(argv):
    """Checks the flags, then reads the files."""
    files = paths.expand_globs("input_file", ",".join([*argv[1:], FLAGS.input_file or ""]))
    vocabulary = None
    if FLAGS.vocab_file:
        paths.check_file("vocab_file", FLAGS.vocab_file)
        from bert_tf.tokenization.vocabulary import read_vocabulary

        vocabulary = read_vocabulary(FLAGS.vocab_file)
    wanted = {"max_seq_length": FLAGS.max_seq_length, "max_predictions_per_seq": FLAGS.max_predictions_per_seq}
    for path in files:
        print(inspect(path, wanted, vocabulary, FLAGS.num_records))


def inspect(path, wanted, vocabulary=None, num_printed=0):
    """Reads a file to its end, prints its first records and returns a line about all of them.

    Args:
      path: a TFRecord file.
      wanted: dict of max_seq_length and max_predictions_per_seq -> int, or None for any.
      vocabulary: list of pieces, or None to print ids.
      num_printed: how many records are printed.

    Raises:
      InputError: naming the file and what is wrong: empty, truncated, damaged, records of other features or
        of other lengths, ids that are not in the vocabulary.
      OSError: the file cannot be read.
    """
    import tensorflow as tf

    from data_prep.records import reader

    sums, schema = collections.Counter(), None
    with tf.io.gfile.GFile(path, "rb") as file:
        for number, (_, record) in enumerate(reader.read_records(path, file, file.size())):
            values = _features(record, f"{path}, record {number:,}")
            if schema is None:
                schema = _Schema(path, values, wanted)
            schema.check(values, f"{path}, record {number:,}", vocabulary)
            schema.add(values, sums)
            if number < num_printed:
                print(f"{path}, record {number:,}: {schema.describe(values)}\n"
                      f"  {' '.join(schema.marked_pieces(values, vocabulary))}")
    return f"{path}: {schema.summary(sums)}"


def _features(record, where):
    """dict of feature name -> list of numbers; InputError unless the record is a tf.train.Example."""
    import tensorflow as tf
    from google.protobuf.message import DecodeError

    try:
        features = tf.train.Example.FromString(record).features.feature
    except DecodeError:
        raise InputError(f"{where}: is no tf.train.Example") from None
    return {name: getattr(feature, feature.WhichOneof("kind") or "int64_list").value
            for name, feature in features.items()}


class _Schema:
    """Which features a file's records have, and of which lengths, as its first record shows."""

    def __init__(self, path, values, wanted):
        from data_prep import records

        length, predictions = len(values.get("input_ids", ())), len(values.get("masked_lm_positions", ()))
        kinds = {"pre-training records": records.pretraining_features(length, predictions),
                 "unmasked pre-training records": records.unmasked_pretraining_features(length),
                 "classification records": records.classification_features(length)}
        for kind, features in kinds.items():
            if {feature.name for feature in features} == set(values):
                self._kind = kind
                self._lengths = {feature.name: feature.length for feature in features}
                break
        else:
            raise InputError(f"{path}: its records have the features {', '.join(sorted(values))}: neither those of "
                             f"{' nor of '.join(kinds)}")
        self._sizes = {"max_seq_length": length}
        if kind == "pre-training records":
            self._sizes["max_predictions_per_seq"] = predictions
        for name, size in self._sizes.items():
            if wanted[name] not in (None, size):
                raise InputError(f"{path}: its records were made with --{name}={size}, not {wanted[name]}")

    def check(self, values, where, vocabulary):
        """Raises InputError unless a record has the features of the first one, and ids of the vocabulary."""
        lengths = {name: len(numbers) for name, numbers in values.items()}
        if lengths != self._lengths:
            name = next(name for name in sorted({*lengths, *self._lengths})
                        if lengths.get(name) != self._lengths.get(name))
            raise InputError(f"{where}: {name} has {lengths.get(name, 0)} numbers, not {self._lengths.get(name, 0)}")
        if max(values.get("masked_lm_positions", ()), default=0) >= lengths["input_ids"]:
            raise InputError(f"{where}: masked_lm_positions holds {max(values['masked_lm_positions'])}, beyond the end")
        for name in ("input_ids", "masked_lm_ids"):
            highest = max(values.get(name, ()), default=0)
            if vocabulary and highest >= len(vocabulary):
                raise InputError(f"{where}: {name} holds {highest}, and --vocab_file has {len(vocabulary):,} entries: "
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
            shares.append(f"{sums['masked'] / sums['real']:.1%} of these masked")
        if "next_sentence_labels" in self._lengths:
            shares.append(f"{sums['random'] / sums['records']:.1%} random next")
        else:
            labels = sorted(key[1] for key in sums if isinstance(key, tuple))
            shares.append("labels " + ", ".join(f"{label} ({sums['label', label]:,})" for label in labels))
        return f"{sums['records']:,} {self._kind}, {sizes}: {', '.join(shares)}"

    def describe(self, values):
        """What a record's line says of it."""
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
        pieces = [name(index) for index in values["input_ids"][:sum(values["input_mask"])]]
        for position, index, weight in zip(*(values.get(f"masked_lm_{part}", ()) for part in
                                             ("positions", "ids", "weights")), strict=True):
            if weight:
                pieces[position] = f"{{{name(index)} -> {pieces[position]}}}"
        return pieces


if __name__ == "__main__":
    script.run(main, define_flags, takes_arguments=True)
