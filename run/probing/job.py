"""Probing from settings to tables: what run.probe_layers does."""

import collections
import json
import os
import sys

import numpy as np
from matplotlib.figure import Figure  # not pyplot: it would look for a screen
from matplotlib.ticker import MaxNLocator

from bert_tf import models
from bert_tf.analysis import probes
from bert_tf.checkpoints import load_pretrained
from bert_tf.files import make_dirs, new_file, only_writer
from run.probing import words
from run.training import strategies

MIX = "mix"  # the row of the mix of all layers


def run(settings):
    """Reads the words, trains probes on each layer, writes and prints what they came to.

    Args:
      settings: ProbeLayersSettings, resolved.

    Raises:
      InputError: a vocabulary or checkpoint that does not suit the config; a file that cannot be read.
    """
    config = settings.model.config
    strategies.make_strategy(settings.devices)  # TensorFlow may compute nothing before
    tokenizer = settings.tokenizer.read_tokenizer(settings.model.init_checkpoint, config)
    encoder = models.BertEncoder(config)
    print(load_pretrained(encoder, settings.model.init_checkpoint), file=sys.stderr)
    train, dev = (words.read(name, getattr(settings, name), settings, encoder, tokenizer)
                  for name in ("train_file", "dev_file"))
    found = _probed(settings, train, dev, train.labels, dev.labels)
    control = _probed(settings, train, dev, *words.control_labels(train, dev, settings.random_seed % 2**64))
    make_dirs(settings.output_dir)
    with only_writer("output_dir", settings.output_dir):
        _write(settings, train, dev, found, control)


def _probed(settings, train, dev, train_labels, dev_labels):
    """The bert_tf.analysis.probes.Probed of labels, a str for each example of LabelledWords."""
    classes = {label: number for number, label in enumerate(sorted(set(train_labels)))}
    examples = [probes.Examples(each.vectors, each.places, np.array([classes.get(label, -1) for label in labels]))
                for each, labels in ((train, train_labels), (dev, dev_labels))]
    return probes.probe(*examples, len(classes), epochs=settings.num_probe_epochs,
                        learning_rate=settings.probe_learning_rate, seed=settings.random_seed % 2**32)


def _write(settings, train, dev, found, control):
    """Writes and prints the table, and draws it."""
    commonest = collections.Counter(train.labels).most_common(1)[0][0]
    majority = dev.labels.count(commonest) / len(dev.labels)
    rows = [[str(layer), accuracy, memorised, accuracy - memorised, weight]
            for layer, (accuracy, memorised, weight) in enumerate(
                zip(found.accuracy, control.accuracy, found.weights, strict=True))]
    rows.append([MIX, found.mix_accuracy, control.mix_accuracy, found.mix_accuracy - control.mix_accuracy, 1.0])
    header = ["layer", "accuracy", "control", "selectivity", "weight"]
    table = [f"{name:>12}" for name in header], *(
        [f"{row[0]:>12}", *(f"{value:>12.4f}" for value in row[1:])] for row in rows)
    text = "\n".join("".join(line) for line in table) + (
        f"\n{len(train.labels):,} examples of {len(set(train.labels))} labels, judged by {len(dev.labels):,}; the "
        f"commonest label, {commonest}: {majority:.4f}\ncentre of gravity of the mix: layer {found.centre:.2f}; of the "
        f"control's {control.centre:.2f}\n")
    texts = {"probes.txt": text, "probes.tsv": "".join("\t".join(map(str, row)) + "\n" for row in [header, *rows]),
             "probes.json": json.dumps({
                 "label": settings.label, "train_examples": len(train.labels), "dev_examples": len(dev.labels),
                 "majority": majority, **{name: {"accuracy": each.accuracy.tolist(), "mix": each.mix_accuracy,
                                                 "weights": each.weights.tolist(), "centre": each.centre}
                                          for name, each in (("labels", found), ("control", control))}}, indent=2)}
    for name, content in texts.items():
        with new_file(os.path.join(settings.output_dir, name)) as file:
            file.write(content)
    with new_file(os.path.join(settings.output_dir, "probes.png"), "wb") as file:
        _draw(found, control, majority).savefig(file, format="png", dpi=150)
    print(text, end="")


def _draw(found, control, majority):
    """Accuracy by layer, with the control's, and the weights of the mix."""
    figure = Figure(figsize=(7, 6), layout="constrained", facecolor="white")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    layers = np.arange(len(found.accuracy))
    above.plot(layers, found.accuracy, marker="o", label="labels")
    above.plot(layers, control.accuracy, marker="s", label="control: random labels")
    above.axhline(found.mix_accuracy, linestyle="--", linewidth=1, label="mix of all layers")
    above.axhline(majority, color="grey", linestyle=":", linewidth=1, label="the commonest label")
    above.set(ylabel="accuracy")
    above.legend(fontsize=8)
    below.bar(layers, found.weights)
    below.axvline(found.centre, color="black", linewidth=1, label=f"centre of gravity {found.centre:.2f}")
    below.set(xlabel="layer, 0 the embeddings", ylabel="weight in the mix")
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    below.legend(fontsize=8)
    return figure
