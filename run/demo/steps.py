"""The steps of the demo. Each runs public scripts, as a user would, and prints the commands."""

import collections
import csv
import json
import os
import shlex
import shutil
import subprocess
import sys
import time

import numpy as np
import tensorflow as tf

from bert_tf.checkpoints.original import BERT_CONFIG_NAME
from bert_tf.cli.tables import format_table
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.files import is_remote
from bert_tf.notes import write_line
from bert_tf.tokenization import BertTokenizer
from bert_tf.tokenization.vocabulary import VOCABULARY_NAME
from data_prep import records
from run.demo import topics
from run.training.results import RESULTS_FILE, read_results

# Marks a directory that an earlier demo created and this one may overwrite.
MARKER = ".bert_tf_demo"
MAX_SEQ_LENGTH = 64
MAX_PREDICTIONS = 10
VOCAB_SIZE = 2000
BERT_CONFIG = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 512,
    "max_position_embeddings": 128,
    "type_vocab_size": 2,
}
MASKED_TEXTS = (
    "The value of the [MASK] is an integer.",
    "This method is called when the [MASK] is created.",
    "If the name is not found, an exception is [MASK].",
)
SERVED_SENTENCES = 5


def run(settings):
    """Runs all steps of DemoSettings, then prints the results next to frequency baselines."""
    started = time.monotonic()
    folder = settings.output_dir
    make_folder(folder)
    print_title("CPython's documentation topics as a corpus and as a classification task")
    topics.write_all(folder)
    prepare(folder)
    pretrain(folder, settings.num_train_steps)
    show_filled_masks(folder)
    fine_tune(folder, settings.num_train_epochs)
    serve(folder)
    report_results(folder, time.monotonic() - started)


def make_folder(folder):
    """Creates an empty directory; raises InputError if it is remote, or exists with other files."""
    if is_remote(folder):
        raise InputError("must be a local directory", "output_dir", folder)
    if (
        os.path.isdir(folder)
        and os.listdir(folder)
        and not os.path.exists(os.path.join(folder, MARKER))
    ):
        raise InputError(
            "contains files that the demo did not create; choose another directory",
            "output_dir",
            folder,
        )
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    open(os.path.join(folder, MARKER), "w").close()


def prepare(folder):
    """Creates the vocabulary from the corpus, and records of the training and held-out parts."""
    print_title("A vocabulary learned from the training part")
    run_script(
        "data_prep.learn_vocab",
        folder,
        input_file="train.txt",
        vocab_file=VOCABULARY_NAME,
        vocab_size=VOCAB_SIZE,
        num_unused=0,
    )
    with open(os.path.join(folder, BERT_CONFIG_NAME), "w", encoding="utf-8") as file:
        file.write(BertConfig(**BERT_CONFIG).to_json())
    print_title("Sentence pairs with masked positions, as TFRecords")
    for part, dupe_factor in (("train", 40), ("held_out", 5)):
        run_script(
            "data_prep.create_pretraining_data",
            folder,
            input_file=f"{part}.txt",
            output_file=f"{part}.tfrecord",
            vocab_file=VOCABULARY_NAME,
            max_seq_length=MAX_SEQ_LENGTH,
            max_predictions_per_seq=MAX_PREDICTIONS,
            dupe_factor=dupe_factor,
        )


def pretrain(folder, num_train_steps):
    """Pre-trains a model on the records, and evaluates it on the held-out records."""
    print_title("Pre-training, then evaluation on the held-out part")
    run_script(
        "run.run_pretraining",
        folder,
        bert_config_file=BERT_CONFIG_NAME,
        input_file="train.tfrecord",
        eval_input_file="held_out.tfrecord",
        output_dir="pretrained",
        do_train=True,
        do_eval=True,
        max_seq_length=MAX_SEQ_LENGTH,
        max_predictions_per_seq=MAX_PREDICTIONS,
        train_batch_size=32,
        eval_batch_size=32,
        learning_rate=1e-3,
        num_train_steps=num_train_steps,
        num_warmup_steps=num_train_steps // 10,
    )


def show_filled_masks(folder):
    """Predicts masked words with the pre-trained model."""
    print_title("Masked words")
    run_script(
        "run.fill_mask",
        folder,
        init_checkpoint="pretrained",
        max_seq_length=MAX_SEQ_LENGTH,
        text=MASKED_TEXTS,
    )


def fine_tune(folder, num_train_epochs):
    """Fine-tunes the pre-trained model to classify sentences by chapter, and evaluates it.

    The evaluation is on held-out sentences.
    """
    print_title("Fine-tuning: which chapter is a sentence from?")
    run_script(
        "run.run_classifier",
        folder,
        task_name="custom",
        text_a_column="sentence",
        data_dir="task",
        init_checkpoint="pretrained",
        output_dir="classifier",
        do_train=True,
        do_eval=True,
        max_seq_length=MAX_SEQ_LENGTH,
        learning_rate=3e-4,
        num_train_epochs=num_train_epochs,
        eval_batch_size=32,
    )


def serve(folder):
    """Exports the classifier to a SavedModel, and classifies held-out sentences with it."""
    print_title("Export to a SavedModel, and its predictions for held-out sentences")
    run_script("run.export_saved_model", folder, init_checkpoint="classifier", export_dir="served")
    with open(os.path.join(folder, "task", "dev.tsv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file.readlines()[1:]]
    rows = rows[:: len(rows) // SERVED_SENTENCES][:SERVED_SENTENCES]
    with open(os.path.join(folder, "sentences.txt"), "w", encoding="utf-8") as file:
        file.writelines(f"{sentence}\n" for sentence, _ in rows)
    run_script(
        "run.predict",
        folder,
        model="served",
        input_file="sentences.txt",
        output_file="predictions.jsonl",
    )
    with open(os.path.join(folder, "predictions.jsonl"), encoding="utf-8") as file:
        for line, (sentence, label) in zip(file, rows, strict=True):
            print(f"{json.loads(line)['label']:<20} (true: {label})  {sentence}")


def report_results(folder, seconds):
    """Prints the results on held-out text, each next to its frequency baseline."""

    def path(*names):
        return os.path.join(folder, *names)

    features = records.pretraining_features(MAX_SEQ_LENGTH, MAX_PREDICTIONS)
    held_out = path("held_out.tfrecord")
    unigram = unigram_loss(
        BertTokenizer(path(VOCABULARY_NAME)), path("train.txt"), held_out, features
    )
    majority, label = majority_label(path("task", "train.tsv"), path("task", "dev.tsv"))
    pretrained = read_results(path("pretrained", RESULTS_FILE))
    classifier = read_results(path("classifier", RESULTS_FILE))
    print_title(f"On held-out text, after {seconds / 60:.1f} minutes")
    rows = (
        (
            "masked LM loss (nats)",
            pretrained["masked_lm_loss"],
            unigram,
            "each token by its corpus frequency",
        ),
        (
            "next sentence accuracy",
            pretrained["next_sentence_accuracy"],
            majority_next_sentence(held_out, features),
            "the more common label",
        ),
        ("chapter accuracy", classifier["eval_accuracy"], majority, f"always {label}"),
    )
    print(
        format_table(
            ["", "baseline is", "reached", "baseline"],
            [
                [name, meaning, f"{reached:.3f}", f"{baseline:.3f}"]
                for name, reached, baseline, meaning in rows
            ],
            num_left=2,
        )
    )
    print(f"\nloss curves: {path('pretrained', 'loss.png')}, {path('classifier', 'loss.png')}")


def unigram_loss(tokenizer, corpus_file, record_file, features):
    """Computes the mean loss, in nats, of predicting masked tokens by their frequency in a corpus.

    Counts are smoothed by one, so that a token that the corpus lacks has a finite loss.

    Args:
      tokenizer: BertTokenizer.
      corpus_file: Path of the text to count.
      record_file: Path of a TFRecord file of pre-training records.
      features: Features from data_prep.records.pretraining_features.
    """
    with open(corpus_file, encoding="utf-8") as file:
        ids = tokenizer.tokenize(file.read().splitlines()).flat_values.numpy()
    counts = np.bincount(ids, minlength=tokenizer.vocab_size) + 1
    losses = -np.log(counts / counts.sum())
    parsed = read_arrays(record_file, features)
    return float(losses[parsed["masked_lm_ids"][parsed["masked_lm_weights"] > 0]].mean())


def majority_next_sentence(record_file, features):
    """Computes the accuracy of always predicting the more common next-sentence label."""
    labels = read_arrays(record_file, features)["next_sentence_labels"]
    return float(max(labels.mean(), 1 - labels.mean()))


def majority_label(train_file, dev_file):
    """Computes the accuracy on a dev TSV of the most common label of the training TSV.

    Also returns that label.
    """
    label = collections.Counter(read_label_column(train_file)).most_common(1)[0][0]
    dev = read_label_column(dev_file)
    return dev.count(label) / len(dev), label


def read_arrays(record_file, features):
    """Reads all records of a file into a dict of arrays."""
    serialized = next(iter(tf.data.TFRecordDataset(record_file).batch(1_000_000)))
    return {name: value.numpy() for name, value in records.parse(serialized, features).items()}


def read_label_column(path):
    """Reads the column label of a TSV file."""
    with open(path, encoding="utf-8", newline="") as file:
        return [
            row["label"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def print_title(title):
    """Prints the title of a part of the demo."""
    print(f"\n=== {title}", flush=True)


def run_script(module, folder, **options):
    """Prints a command and runs it in `folder`. A tuple repeats a flag. A failure ends the demo."""
    arguments = []
    for name, value in options.items():
        if value is True:
            arguments.append(f"--{name}")
        else:
            arguments += [
                f"--{name}={each}" for each in (value if isinstance(value, tuple) else (value,))
            ]
    print(f"$ {shlex.join(['python', '-m', module, *arguments])}", flush=True)
    status = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=folder, check=False
    ).returncode
    if status:
        write_line(f"the command above failed with status {status}")
        sys.exit(status)
