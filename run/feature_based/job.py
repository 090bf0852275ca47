"""The job of the feature-based approach: data, embeddings of a frozen encoder, BiLSTM, scores.

Shape legend: B batch, WO words, S sequence, LE layers and the embeddings, H hidden.
"""

import dataclasses
import os

import numpy as np
import tensorflow as tf

from bert_tf import files
from bert_tf.checkpoints import ModelDirectory
from bert_tf.checkpoints.training_run import has_run
from bert_tf.cli.run_state import RunState, fingerprint, snapshot
from bert_tf.tasks import KINDS
from data_prep.tasks import word_features
from run.feature_based import embeddings
from run.feature_based.model import FrozenFeatureModel
from run.feature_based.settings import ALL, COMBINATIONS, select_layers
from run.finetuning.experiment import Experiment
from run.finetuning.job import run_seeds
from run.finetuning.search import list_columns
from run.finetuning.tasks import TASKS
from run.training import checkpoints, results, strategies
from run.training.loop import lock_run
from run.training.padding import Padding
from run.training.prediction import Predictor
from run.training.results import RESULTS_FILE

TABLE_FILE = "table.tsv"
SETTINGS_FILE = "feature_based.json"
DROPOUT = 0.3  # Rate for the inputs of each BiLSTM layer and of the last layer.


@dataclasses.dataclass(frozen=True)
class FeatureExperiment(Experiment):
    """Runs that train a BiLSTM.

    The features of the task include the vectors, StackedRows [B, WO, LE, H].

    Attributes:
      choice: Key of COMBINATIONS.
      lstm_width: int. Hidden size of the BiLSTM.
    """

    choice: str = dataclasses.field(kw_only=True)
    lstm_width: int = dataclasses.field(kw_only=True)

    def make_model(self, settings):
        """See Experiment. Creates the BiLSTM."""
        config = settings.model.config
        return FrozenFeatureModel(
            COMBINATIONS[self.choice],
            len(select_layers(self.choice, config.num_hidden_layers)),
            config.hidden_size,
            KINDS[self.task.kind].num_outputs(self.task.metadata),
            pools=not self.task.per_position,
            width=self.lstm_width,
            dropout_rate=DROPOUT,
            seed=settings.training.random_seed,
        )

    def make_predictor(self, settings, model):
        """See Experiment."""
        return Predictor(
            self.strategy,
            model,
            per_position=self.task.per_position,
            inputs=("vectors", "input_mask"),
        )

    def begin(self, settings):
        """See Experiment. The state of all runs is in one file, which the job writes."""

    def save_files(self, settings):
        """See Experiment. No script opens the directory as a model, so it needs no files."""


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings):
    """Trains and evaluates a BiLSTM for each choice of features and each seed, and predicts.

    Args:
      settings: FeatureBasedSettings, resolved.

    Raises:
      InputError: If data are invalid, if embeddings are damaged, or if output_dir contains a run
        with other settings.
    """
    # Precedes all computation.
    strategy = strategies.make_strategy(settings.devices, settings.precision.mixed_precision)
    task, features = read_data(settings)
    output_dir = settings.training.output_dir
    rows = {}
    table = os.path.join(output_dir, TABLE_FILE)
    state = RunState(
        output_dir,
        snapshot(settings),
        {
            **{name: fingerprint(paths) for name, paths in task.training_files.items()},
            "init_checkpoint": fingerprint(
                ModelDirectory.open(settings.model.init_checkpoint).weight_files
            ),
        },
        name=SETTINGS_FILE,
        must_be_empty=True,
    )
    with lock_run(output_dir, strategy, trains=True):
        state.begin()
        for choice in settings.choices:
            rows[choice] = train_row(settings, choice, strategy, task, features)
            if settings.features == ALL:
                results.write_table(
                    table,
                    ["features", *list_columns(rows.values(), task.metric)],
                    [{"features": name, **scores} for name, scores in rows.items()],
                )
    if settings.features == ALL:
        print(f"{table}: the scores of all features")


def read_data(settings):
    """Reads all data of FeatureBasedSettings.

    Returns:
      Tuple of the Task, whose features are the BiLSTM's without vectors, and the encoder's
      features, dict of split to dict of arrays [B, S].
    """
    task = TASKS[settings.task_settings.kind].open(settings.fine_tuning)
    tokenizer = settings.tokenizer.read_tokenizer(
        settings.model.init_checkpoint, settings.model.config
    )
    task = task.read(tokenizer, Padding.REMOVED)
    features = task.features
    rows = {split: _make_rows(task, split, values) for split, values in features.items()}
    return dataclasses.replace(task, features=rows), features


def train_row(settings, choice, strategy, task, features):
    """Trains the unfinished runs of a choice of features, and writes the mean of their scores.

    Args:
      settings: FeatureBasedSettings.
      choice: Key of COMBINATIONS.
      strategy, task, features: See `run` and `read_data`.

    Returns:
      Dict of name to float. The scores: of the only run, or means and deviations.
    """
    is_table = settings.features == ALL
    run_settings = [settings.make_run(choice, number) for number in range(settings.num_runs)]
    folder = os.path.join(settings.training.output_dir, choice if is_table else "")
    path = os.path.join(folder, RESULTS_FILE)
    folders = [one.training.output_dir for one in run_settings]
    if is_table and files.at(path).exists() and not all(map(has_run, folders)):
        scores = results.read_results(path)  # The row was finished by an earlier command.
    else:
        if is_table:
            print(f"table: {choice}", flush=True)
        rows = {}
        for split, encoder_features in features.items():
            vectors = _find_embeddings(settings, choice, strategy, split, task, encoder_features)
            rows[split] = {**task.features[split], "vectors": vectors}
        experiment = FeatureExperiment(
            strategy,
            dataclasses.replace(task, features=rows),
            choice=choice,
            lstm_width=settings.lstm_width,
        )
        best, scores = run_seeds(experiment, [one.fine_tuning for one in run_settings], folder)
        if not is_table:
            experiment.task.report(best.outputs, folder)
        if settings.do_predict:
            experiment.task.predict(best.predictor, best.outputs, folder)
        best.run.free()
    if is_table:
        for run_folder in folders:  # A row that was interrupted at its end may have left some.
            checkpoints.remove_checkpoints(run_folder)
    return scores


def _find_embeddings(settings, choice, strategy, split, task, features):
    """Returns the embeddings of a split, StackedRows [B, WO, LE, H].

    Computes them if they are not stored. They are the embeddings of the first token of each word
    for a tagger, and of all tokens for texts and pairs. See `train_row` for the arguments;
    `features`: dict of arrays [rows, S], the encoder's features of the split.
    """
    config = settings.model.config
    positions = (
        features["label_ids"] != word_features.IGNORED
        if task.per_position
        else features["input_mask"] > 0
    )
    layers = select_layers(choice, config.num_hidden_layers)
    computed = range(config.num_hidden_layers + 1) if settings.features == ALL else layers
    path = embeddings.compute(settings, strategy, split, features, positions, computed)
    return embeddings.read(
        path, layers, task.features[split]["input_mask"].sum(axis=1), config.hidden_size
    )


def _make_rows(task, split, features):
    """Returns the features of the BiLSTM without vectors, dict of arrays [B, ...].

    They include input_mask, int32 [B, WO]. A row is as for the encoder; for taggers, it is a
    sentence, or a part of a sentence that has more words than an input has tokens.
    """
    if not task.per_position:
        return {
            name: values for name, values in features.items() if name in ("input_mask", "label_ids")
        }
    max_length = task.settings.tokenizer.max_seq_length
    sentences = task.data.examples(split).words
    lengths = [
        min(max_length, len(words) - start)
        for words in sentences
        for start in range(0, len(words), max_length)
    ]
    mask = np.arange(max(lengths)) < np.array(lengths)[:, np.newaxis]
    labels = np.full(mask.shape, word_features.IGNORED, np.int32)
    labels[mask] = features["label_ids"][features["label_ids"] != word_features.IGNORED]
    return {"input_mask": mask.astype(np.int32), "label_ids": labels}
