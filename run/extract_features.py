"""Writes the vectors that a pre-trained BERT gives each token of a text, of any of its layers.

  python -m run.extract_features --input_file=input.txt --output_file=output.jsonl --vocab_file=vocab.txt \\
      --bert_config_file=bert_config.json --init_checkpoint=bert_model.ckpt --layers=-1,-2,-3,-4

A line of the input is a text, or a pair of texts, `text_a ||| text_b`.
"""

import os
import re
import sys

from absl import flags

from bert_tf.cli import paths, script
from bert_tf.errors import InputError
from bert_tf.files import is_remote
from run.settings import flags as driver_flags

FLAGS = flags.FLAGS

FORMATS = ("jsonl", "npz", "tfrecord")
POOLINGS = ("none", "cls", "mean")
MEAN_TOKEN = "[MEAN]"
WINDOW_BYTES = 1 << 29  # most memory for vectors that wait to be put into the order of the input
PAIR = re.compile(r"(.*) \|\|\| (.*)")


def define_flags():
    """Defines this script's flags; the original's keep their names, defaults and meanings."""
    driver_flags.define_model_flags()
    driver_flags.define_tokenizer_flags()
    driver_flags.define_distribution_flags()
    flags.DEFINE_string(
        "input_file", None, "Text file with a text, or `text_a ||| text_b`, on each line; - for standard input. "
                            "Needed.")
    flags.DEFINE_string("output_file", None, "File to write. Needed.")
    flags.DEFINE_enum(
        "output_format", "jsonl", FORMATS,
        "jsonl: the original's JSON lines; npz: NumPy arrays vectors [tokens, layers, hidden_size], tokens, row_splits "
        "and layers; tfrecord: a tf.train.Example a line with linex_index, tokens and vectors.")
    flags.DEFINE_string(
        "layers", "-1,-2,-3,-4", "Layers to write, comma-separated: 0 is the first, -1 the last.")
    flags.DEFINE_enum(
        "pooling", "none", POOLINGS, "none: a vector for each token; cls: that of [CLS] alone; mean: the mean over the "
                                     "tokens of a line, [CLS] and [SEP] included, under the token [MEAN].")
    flags.DEFINE_integer("batch_size", 32, "Lines that go through the model together.", lower_bound=1)
    flags.DEFINE_bool(
        "use_one_hot_embeddings", False, "Whether to look words up by a matrix product, as suits a TPU; the vectors "
                                         "are the same.")


def main(argv):
    """Checks the flags, loads the model once, and goes through the input window by window."""
    del argv
    check_files(FLAGS.input_file, FLAGS.output_file, FLAGS.output_format)
    if not FLAGS.init_checkpoint:
        raise InputError("--init_checkpoint is needed")
    driver_flags.note_unneeded(FLAGS.flag_values_dict())
    config = driver_flags.read_config(FLAGS.bert_config_file, FLAGS.max_seq_length)
    layers = parse_layers(FLAGS.layers, config.num_hidden_layers)
    paths.check_file("vocab_file", FLAGS.vocab_file)

    from tqdm import tqdm

    from bert_tf import models
    from bert_tf.checkpoints import load_pretrained
    from run.finetuning import prediction
    from run.inference import vector_files
    from run.training import strategies

    strategy = strategies.make_strategy(
        "tpu" if FLAGS.use_tpu else FLAGS.distribution_strategy, FLAGS.num_gpus, FLAGS.tpu_name,
        FLAGS.num_cpu_devices)  # TensorFlow may compute nothing before
    strategies.check_batch_size("batch_size", FLAGS.batch_size, strategy)
    tokenizer = driver_flags.read_tokenizer(FLAGS.vocab_file, FLAGS.do_lower_case, FLAGS.init_checkpoint, config)
    is_dynamic = strategies.allows_dynamic_shapes(strategy)
    with strategy.scope():
        encoder = models.BertEncoder(
            config, use_one_hot_embeddings=FLAGS.use_one_hot_embeddings, remove_padding=is_dynamic)
    print(load_pretrained(encoder, FLAGS.init_checkpoint), file=sys.stderr)
    predictor = prediction.Predictor(
        strategy, chosen_layers(encoder, layers), per_position=True, static_shapes=not is_dynamic)
    batch_bytes = 4 * FLAGS.batch_size * FLAGS.max_seq_length * len(layers) * config.hidden_size
    cut = CutTexts(tokenizer, FLAGS.max_seq_length)
    rows = extract(read_texts(FLAGS.input_file), tokenizer, predictor, FLAGS.max_seq_length, FLAGS.batch_size,
                   max(1, WINDOW_BYTES // batch_bytes), cut)
    with vector_files.WRITERS[FLAGS.output_format](FLAGS.output_file, layers, config.hidden_size) as writer:
        for pieces, vectors in tqdm(rows, desc="extracting", unit="line", dynamic_ncols=True):
            writer.write(*pool(pieces, vectors, FLAGS.pooling))
    print(f"{FLAGS.output_file}: vectors of {writer.num_rows:,} lines, layers {FLAGS.layers}{cut}")


def check_files(input_file, output_file, output_format):
    """Raises InputError, naming the flag, unless one can be read and the other written."""
    if input_file != "-":
        paths.check_file("input_file", input_file)
    if not output_file:
        raise InputError("--output_file is needed")
    if is_remote(output_file):
        if output_format == "npz":
            raise InputError(f"--output_file={output_file}: --output_format=npz needs a local file; copy it from there")
    elif os.path.isdir(output_file):
        raise InputError(f"--output_file={output_file}: is a directory, a file is needed")
    elif not os.path.isdir(os.path.dirname(output_file) or "."):
        raise InputError(f"--output_file={output_file}: there is no folder {os.path.dirname(output_file)}")


def parse_layers(text, num_layers):
    """The layer indexes of `--layers`, list of int as given; InputError if one is no layer of the model."""
    try:
        layers = [int(layer) for layer in text.split(",")]
    except ValueError:
        raise InputError(f"--layers={text}: comma-separated whole numbers are needed, as -1,-2") from None
    for layer in layers:
        if not -num_layers <= layer < num_layers:
            raise InputError(f"--layers={text}: there is no layer {layer}, the model has the layers 0 to "
                             f"{num_layers - 1}, from the last -1 to {-num_layers}")
    return layers


def read_texts(path):
    """Yields (text_a, text_b) for each line of a file, or of standard input for "-"; text_b may be empty.

    As the original's `read_examples`: bytes that are not UTF-8 are dropped, white space around a line too, and the
    last ` ||| ` divides it. An empty line is an empty text, so that line numbers stay.
    """
    import tensorflow as tf

    with sys.stdin.buffer if path == "-" else tf.io.gfile.GFile(path, "rb") as file:
        for line in file:
            text = line.decode("utf-8", "ignore").strip()
            pair = PAIR.fullmatch(text)
            yield pair.groups() if pair else (text, "")


class CutTexts:
    """Counts the lines that are longer than the model takes; as a string, says how many there were.

    Args:
      tokenizer: BertTokenizer.
      max_seq_length: length that lines are cut to.
    """

    def __init__(self, tokenizer, max_seq_length):
        self._tokenizer, self._max_seq_length = tokenizer, max_seq_length
        self._num_cut = self._num_pieces = 0

    def count(self, texts, features):
        """Takes a list of (text_a, text_b) and their features, dict of arrays [n, S]."""
        is_full = features["input_mask"].all(axis=1)
        full = [pair for pair, each in zip(texts, is_full, strict=True) if each]
        if not full:
            return
        lengths = [self._tokenizer.tokenize(column).row_lengths().numpy() for column in zip(*full, strict=True)]
        special = 2 + (lengths[1] > 0)
        excess = lengths[0] + lengths[1] + special - self._max_seq_length
        self._num_cut += int((excess > 0).sum())
        self._num_pieces += int(excess.sum())

    def __str__(self):
        if not self._num_cut:
            return ""
        return (f"; {self._num_cut:,} of them were longer than --max_seq_length={self._max_seq_length} and lost "
                f"{self._num_pieces:,} pieces together")


def chosen_layers(encoder, layers):
    """A model that gives the outputs of some of an encoder's layers, for run.finetuning.prediction.

    Args:
      encoder: BertEncoder.
      layers: indexes of layers, list of int.

    Returns:
      (features, training) -> {"vectors": float32 [B, S, layers, H]}.
    """
    import tensorflow as tf

    def model(features, training=False):
        outputs = encoder(features, training=training)["encoder_outputs"]
        return {"vectors": tf.cast(tf.stack([outputs[layer] for layer in layers], axis=2), tf.float32)}

    return model


def extract(texts, tokenizer, predictor, max_seq_length, batch_size, window_batches, cut):
    """Yields the pieces of each text, list of str, and their vectors, float32 [pieces, layers, H].

    Args:
      texts: iterable of (text_a, text_b).
      tokenizer: BertTokenizer.
      predictor: run.finetuning.prediction.Predictor of `chosen_layers`.
      max_seq_length: length that texts are cut to.
      batch_size: texts that go through the model together.
      window_batches: how many batches of consecutive texts are sorted by length together.
      cut: CutTexts.
    """
    import itertools

    texts = iter(texts)
    while window := list(itertools.islice(texts, window_batches * batch_size)):
        encoded = tokenizer.encode(*zip(*window, strict=True), max_seq_length)
        features = {name: values.numpy() for name, values in encoded.items()}
        cut.count(window, features)
        vectors = predictor(features, batch_size, "encoding")["vectors"]
        lengths = features["input_mask"].sum(axis=1)
        for ids, of_text, length in zip(features["input_ids"], vectors, lengths, strict=True):
            yield [tokenizer.vocabulary[id_] for id_ in ids[:length]], of_text[:length]


def pool(pieces, vectors, pooling):
    """The pieces of a line, list of str, and their vectors [pieces, layers, H], as `--pooling` leaves them."""
    if pooling == "cls":
        return pieces[:1], vectors[:1]
    if pooling == "mean":
        return [MEAN_TOKEN], vectors.mean(axis=0, keepdims=True)
    return pieces, vectors


if __name__ == "__main__":
    script.run(main, define_flags)
