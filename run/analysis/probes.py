"""The job of run.probe_layers: linear classifiers measure information about words per layer.

Shape legend: B batch, S sequence, WO words, LE layers and the embeddings, H hidden.
"""

import collections
import dataclasses
import os

import numpy as np
import tensorflow as tf
from matplotlib.ticker import MaxNLocator
from seqeval.metrics.sequence_labeling import get_entities
from tqdm import tqdm

from bert_tf import files, models, notes
from bert_tf.checkpoints import load_pretrained
from bert_tf.cli.tables import format_table
from bert_tf.errors import InputError
from bert_tf.files import describe_dropped_bytes, new_file
from data_prep.datasets import conll
from run.analysis import linear_probes, reading
from run.training import plots, strategies
from run.training.settings import DeviceSettings

# The learning rate of Adam decays linearly to 0.
EPOCHS = 20
LEARNING_RATE = 2e-3
SEED = 12345  # Seed of the labels of the control task, and of the order of words.
MIX = "mix"  # The row of the mix of all layers.
# Maximum number of words of a file. Their hidden states of each layer are in memory.
MAX_WORDS = 50_000
# Type of saved embeddings: half the memory, without an effect on probes.
EMBEDDING_DTYPE = np.float16


def run(settings):
    """Reads the words, trains probes on each layer, and writes and prints the results.

    Args:
      settings: ProbeLayersSettings, resolved.

    Raises:
      InputError: If a vocabulary or checkpoint does not match the config, or if a file is invalid.
    """
    config = settings.model.config
    strategies.make_strategy(DeviceSettings())  # Must precede all TensorFlow computation.
    tokenizer = settings.tokenizer.read_tokenizer(settings.model.init_checkpoint, config)
    sentences = {
        name: _read_sentences(getattr(settings, name), settings)
        for name in ("train_file", "dev_file")
    }
    encoder = models.BertEncoder(config)
    notes.write_line(load_pretrained(encoder, settings.model.init_checkpoint))
    (train, train_forms), (dev, dev_forms) = (
        compute_examples(name, each, settings, encoder, tokenizer)
        for name, each in sentences.items()
    )
    result = linear_probes.probe(train, dev, epochs=EPOCHS, learning_rate=LEARNING_RATE, seed=SEED)
    labels = sample_control_labels(train.labels, train_forms, dev_forms, SEED)
    control = linear_probes.probe(
        *(
            dataclasses.replace(each, labels=[labels[form] for form in forms])
            for each, forms in ((train, train_forms), (dev, dev_forms))
        ),
        epochs=EPOCHS,
        learning_rate=LEARNING_RATE,
        seed=SEED,
    )
    files.at(settings.output_dir).make_dirs()
    _write(settings, train, dev, result, control)


def _write(settings, train, dev, result, control):
    """Writes, prints, and plots the table."""
    most_common = collections.Counter(train.labels).most_common(1)[0][0]
    majority = dev.labels.count(most_common) / len(dev.labels)
    rows = [
        [str(layer), accuracy, control_accuracy, accuracy - control_accuracy, weight]
        for layer, (accuracy, control_accuracy, weight) in enumerate(
            zip(result.accuracy, control.accuracy, result.weights, strict=True)
        )
    ]
    rows.append(
        [
            MIX,
            result.mix_accuracy,
            control.mix_accuracy,
            result.mix_accuracy - control.mix_accuracy,
            1.0,
        ]
    )
    header = ["layer", "accuracy", "control", "selectivity", "weight"]
    table = format_table(header, [[row[0], *(f"{value:.4f}" for value in row[1:])] for row in rows])
    text = table + (
        f"\n{len(train.labels):,} training examples of {len(set(train.labels))} labels, "
        f"{len(dev.labels):,} evaluation examples; most common label, {most_common}: "
        f"{majority:.4f}\ncenter of gravity of the mix: layer {result.center:.2f}; for the "
        f"control task: layer {control.center:.2f}\n"
    )
    texts = {
        "probes.txt": text,
        "probes.tsv": "".join("\t".join(map(str, row)) + "\n" for row in [header, *rows]),
    }
    for name, content in texts.items():
        with new_file(os.path.join(settings.output_dir, name)) as file:
            file.write(content)
    plots.save_figure(
        _plot(result, control, majority), os.path.join(settings.output_dir, "probes.png")
    )
    print(text, end="")


def _plot(result, control, majority):
    """Plots accuracy by layer, with the control task's, and the weights of the mix."""
    figure = plots.create_figure(figsize=(7, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    layers = np.arange(len(result.accuracy))
    above.plot(layers, result.accuracy, marker="o", label="labels")
    above.plot(layers, control.accuracy, marker="s", label="control: random labels")
    above.axhline(result.mix_accuracy, linestyle="--", linewidth=1, label="mix of all layers")
    above.axhline(majority, color="grey", linestyle=":", linewidth=1, label="most common label")
    above.set(ylabel="accuracy")
    above.legend(fontsize=8)
    below.bar(layers, result.weights)
    below.axvline(
        result.center, color="black", linewidth=1, label=f"center of gravity {result.center:.2f}"
    )
    below.set(xlabel="layer (0: embeddings)", ylabel="weight in the mix")
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    below.legend(fontsize=8)
    return figure


def compute_examples(argument, sentences, settings, encoder, tokenizer):
    """Computes the embeddings of the words of a file, and the labels to predict.

    Args:
      argument: Name of the setting with the path of the file.
      sentences: List of reading.Sentence, of the file.
      settings: ProbeLayersSettings.
      encoder: BertEncoder that computes padding.
      tokenizer: BertTokenizer.

    Returns:
      The linear_probes.Examples, of words: the word, the word and its head, or both ends of a span;
      and a list of the first word of each. Omits sentences longer than `max_seq_length`.

    Raises:
      InputError: If no sentence is short enough, or if none has the requested labels.
    """
    path = getattr(settings, argument)
    max_seq_length = settings.tokenizer.max_seq_length
    outputs = tf.function(
        tf.autograph.experimental.do_not_convert(
            lambda features, words: _average_tokens(encoder, features, words)
        ),
        autograph=False,
        reduce_retracing=True,
    )
    num_read = 0
    num_words = 0
    vectors = []
    word_indices = []
    labels = []
    forms = []
    with tqdm(total=len(sentences), desc=path, unit="sentence", dynamic_ncols=True) as bar:
        for rows, features, words, _ in reading.sentence_batches(
            tokenizer, sentences, max_seq_length, settings.batch_size
        ):
            embeddings = outputs(features, words).numpy().astype(EMBEDDING_DTYPE)  # [B, WO, LE, H]
            for row, sentence_embeddings in zip(rows, embeddings, strict=True):
                sentence = sentences[row]
                vectors.append(sentence_embeddings[: len(sentence.words)])
                for label, *example in _get_examples(sentence, settings.label):
                    word_indices.append([num_words + word for word in example])
                    labels.append(label)
                    forms.append(sentence.words[example[0]])
                num_words += len(sentence.words)
            num_read += len(rows)
            bar.update(len(rows))
    if not labels:
        setting_text = f"`max_seq_length`={max_seq_length}"
        raise InputError(
            f"contains no sentence of at most {setting_text} tokens with labeled words",
            argument,
            path,
        )
    if num_read < len(sentences):
        print(
            f"{path}: skipped {len(sentences) - num_read:,} sentences longer than "
            f"--max_seq_length={max_seq_length}"
        )
    return linear_probes.Examples(np.concatenate(vectors), np.array(word_indices), labels), forms


def _read_sentences(path, settings):
    """Returns the first sentences of a file, with at most MAX_WORDS words.

    Files with columns have no trees.

    Raises:
      InputError: If the file is invalid, or if it lacks the requested labels.
    """
    if conll.is_treebank(path):
        sentences = list(reading.read_parsed_sentences(path))
    else:
        read = conll.read_sentences(path, settings.token_column, settings.label_column)
        if read.num_garbled:
            notes.write_line(f"{path}: {describe_dropped_bytes(read.num_garbled)}")
        if settings.label == "relations":
            raise InputError(
                f"requires treebanks, but {path} does not end in {conll.TREEBANK_SUFFIX}",
                "label",
                settings.label,
            )
        sentences = [
            reading.Sentence(words, labels, [reading.ROOT] * len(words), [""] * len(words))
            for words, labels in zip(read.words, read.labels, strict=True)
        ]
    labels = {tag for sentence in sentences for tag in sentence.tags}
    if settings.label == "spans" and not conll.are_entity_labels(labels):
        raise InputError(
            f"the labels of {path} are not entity labels such as O, B-PER, and I-PER",
            "label",
            "spans",
        )
    num_words = np.cumsum([len(sentence.words) for sentence in sentences])
    return sentences[: max(1, np.searchsorted(num_words, MAX_WORDS, side="right"))]


def _get_examples(sentence, label):
    """Returns the labels of a sentence, each with the indices of the words that the probe uses.

    The result is a list of tuples.
    """
    if label == "tags":
        return [(tag, word) for word, tag in enumerate(sentence.tags)]
    if label == "spans":
        return get_entities(sentence.tags)
    return [
        (relation, word, head)
        for word, (relation, head) in enumerate(
            zip(sentence.relations, sentence.heads, strict=True)
        )
        if head != reading.ROOT
    ]


def _average_tokens(encoder, features, words):
    """Averages the embeddings of each word's tokens in each layer: float32 [B, WO, LE, H].

    Args:
      encoder: BertEncoder.
      features: Dict of int32 [B, S].
      words: int32 [B, S]. Index of each token's word, -1 if none.
    """
    outputs = encoder(features)
    # [B, S, LE, H].
    layers = tf.stack([outputs["embedding_output"], *outputs["encoder_outputs"]], axis=2)
    belongs = tf.one_hot(words, tf.reduce_max(words) + 1, dtype=tf.float32)  # [B, S, WO]
    num_tokens = tf.reduce_sum(belongs, axis=1)  # [B, WO]
    summed = tf.einsum("bsw,bskh->bwkh", belongs, tf.cast(layers, tf.float32))
    return tf.math.divide_no_nan(summed, num_tokens[:, :, tf.newaxis, tf.newaxis])


def sample_control_labels(labels, train_forms, dev_forms, seed):
    """Samples labels of the control task: one per form, by the frequency of labels.

    See Hewitt and Liang 2019.

    Args:
      labels: List of str. Labels of the training examples.
      train_forms, dev_forms: Lists of str. The first word of each example.
      seed: int. At least 0.

    Returns:
      Dict of form to label, str.
    """
    names, counts = np.unique(labels, return_counts=True)
    distinct = sorted({*train_forms, *dev_forms})
    drawn = np.random.default_rng(seed).choice(names, len(distinct), p=counts / counts.sum())
    return dict(zip(distinct, drawn.tolist(), strict=True))
