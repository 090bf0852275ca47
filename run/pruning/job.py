"""Pruning of a fine-tuned model in rounds: measure importance, prune, fine-tune, and evaluate.

Each round has a directory in output_dir, such as `round_1`, with the pruned model, and below it, in
`tuned`, the model after fine-tuning. An interrupted command resumes with the first round without
scores. The final model is in output_dir. Pruned models are TF1 checkpoints without optimizer state,
because no run of the smaller model can be resumed.
"""

import dataclasses
import itertools
import os

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from bert_tf import files
from bert_tf.checkpoints import ModelDirectory
from bert_tf.checkpoints.tokenizers import write_temporary_vocabulary
from bert_tf.cli import paths
from bert_tf.cli.model_settings import ModelSettings
from bert_tf.cli.run_state import RunState, snapshot
from bert_tf.cli.tables import format_table
from bert_tf.errors import InputError
from bert_tf.files import read_json_object
from bert_tf.techniques.compression.pruning import most_important, prune
from bert_tf.techniques.compression.word_embeddings import factorize, keep_pieces
from bert_tf.tokenization.vocabulary import SPECIAL_PIECES, SUFFIX_INDICATOR, get_source
from data_prep import tables
from run.distillation.settings import check_sizes
from run.finetuning import job
from run.finetuning.experiment import Experiment, write_scores
from run.finetuning.fine_tuned_model import FineTunedModel, write_json
from run.pruning.settings import PruneModelSettings
from run.techniques.distillation import TaskDistillation
from run.techniques.settings import Teacher
from run.training import strategies
from run.training.settings import DeviceSettings

# The settings that a pruning was started with, which a resumed command must match.
SETTINGS_FILE = "prune.json"
ROUND = "round_{}"
TUNED = "tuned"
SCORES_FILE = "scores.json"
REPORT_FILE = "pruning.json"
TEXTS_AT_ONCE = 4096  # Of a file that determines the vocabulary.


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings):
    """Prunes a model.

    Args:
      settings: PruneModelSettings, resolved.

    Raises:
      InputError: If settings or data do not match the model or each other, or if output_dir
        contains another pruning.
    """
    output_dir = settings.training.output_dir
    strategy = strategies.make_strategy(DeviceSettings(), settings.precision.mixed_precision)
    tokenizer = settings.tokenizer.read_tokenizer(
        settings.model.init_checkpoint, settings.model.config
    )
    vocabulary = None
    opened = settings
    if settings.prune_vocabulary:
        vocabulary = _find_used_ids(settings.prune_vocabulary, tokenizer)
        opened = settings.replace_values({"vocab_file": _write_pieces(tokenizer, vocabulary)})
    original = FineTunedModel.open(opened)
    task = original.task
    if settings.schedule.num_train_epochs:
        task.settings.num_train_steps(task.num_train_examples)
    experiment = Experiment(
        strategy,
        dataclasses.replace(task, folder=output_dir),
        job.choose_techniques(task.settings),
        job.fingerprint_training_files(task),
    )
    distillation = None
    if settings.distill:
        distillation = _make_distillation(settings, original, experiment.task)
        experiment = dataclasses.replace(
            experiment,
            task=distillation.task,
            techniques=(*experiment.techniques, distillation),
            inputs=experiment.inputs | distillation.inputs,
        )
    task = experiment.task
    original = dataclasses.replace(original, task=task)
    state = RunState(
        output_dir,
        snapshot(settings, task.data.resolved_settings),
        {
            **experiment.inputs,
            "init_checkpoint": files.at(settings.model.init_checkpoint).absolute(),
        },
        name=SETTINGS_FILE,
        must_be_empty=True,
    )
    with files.folder_for(output_dir), files.lock_output("output_dir", output_dir):
        state.begin()
        task.write_training_data()
        _Pruning(settings, original, experiment).run(vocabulary)
        if distillation:
            distillation.delete_outputs()


def _write_pieces(tokenizer, ids):
    """Writes the tokens of a BertTokenizer with some IDs; returns the file's path."""
    pieces = [tokenizer.vocabulary[number] for number in ids]
    added_tokens = [
        dataclasses.replace(token, id=pieces.index(token.content))
        for token in tokenizer.added_tokens
        if token.content in pieces
    ]
    source = get_source(tokenizer.vocab_file)
    return write_temporary_vocabulary(source, pieces, added_tokens)


def _make_distillation(settings, original, task):
    """Creates the TaskDistillation of a task from the original model, a FineTunedModel.

    `settings`: PruneModelSettings.
    """
    # Only the attention loss depends on heads.
    path = original.path
    losses = settings.losses
    config = original.config
    check_sizes(losses, config, config)
    if losses.attention_weight and settings.keep_heads < 1:
        raise InputError(
            "pruned heads cannot be compared with the teacher's; set it to 0",
            "attention_weight",
            losses.attention_weight,
        )
    return TaskDistillation(losses, Teacher(path, task.metadata, config), config, task)


@dataclasses.dataclass(frozen=True)
class _Pruning:
    """A pruning in progress.

    Attributes:
      settings: PruneModelSettings.
      original: FineTunedModel. The original model.
      experiment: Experiment, what all runs share.
    """

    settings: PruneModelSettings
    original: FineTunedModel
    experiment: Experiment

    def run(self, vocabulary):
        """Prunes, writes the final model, and prints the results.

        `vocabulary`: int [n], IDs to keep; None for all.
        """
        original = self.original
        metric = self.original.task.metric
        folder = self.settings.training.output_dir
        model = original
        if vocabulary is not None:
            tensors, config = keep_pieces(original.read_tensors(), original.config, vocabulary)
            print(
                f"vocabulary: keeping {len(vocabulary):,} of {original.config.vocab_size:,} tokens"
            )
            model = original.write(os.path.join(folder, "vocabulary"), tensors, config)
        scores = model.score()
        print(f"{model.path}: {metric} {scores[metric]:.4f}", flush=True)
        entries = [self._describe(original.config, scores)]
        for number in range(1, self.settings.rounds + 1):
            model, scores = self._run_round(number, model)
            entries.append(self._describe(model.config, scores))
            print(
                f"round {number} of {self.settings.rounds}: {entries[-1]['flops_share']:.3f} of "
                f"the FLOPs, {metric} {scores[metric]:.4f}",
                flush=True,
            )
        original.write(folder, model.read_tensors(), model.config)
        write_json(
            os.path.join(folder, REPORT_FILE),
            {
                "init_checkpoint": files.at(original.path).absolute(),
                "metric": metric,
                "whole": entries[0],
                "rounds": entries[1:],
            },
        )
        print(_format_report(entries, metric))
        print(
            f"{folder}: wrote the model of round {self.settings.rounds}, with {metric} "
            f"{scores[metric]:.4f}"
        )

    def _run_round(self, number, before):
        """Runs round `number` on the FineTunedModel `before`.

        Returns a FineTunedModel and its scores.
        """
        folder = os.path.join(self.settings.training.output_dir, ROUND.format(number))
        finished = os.path.join(folder, SCORES_FILE)
        tuned = os.path.join(folder, TUNED)
        trains = bool(self.settings.schedule.num_train_epochs)
        model = self._create_pruned_model(folder, before, number)
        if files.at(finished).exists():
            return dataclasses.replace(model, path=tuned) if trains else model, read_json_object(
                finished
            )
        if trains:
            model, scores = self._train(model, tuned)
        else:
            scores = model.score()
        write_json(finished, {name: float(value) for name, value in scores.items()})
        return model, scores

    def _create_pruned_model(self, folder, before, number):
        """Returns the FineTunedModel of a round's pruned model, and creates it if necessary.

        It is not created if it already exists completely.
        """
        mark = os.path.join(folder, REPORT_FILE)
        if files.at(mark).exists():
            config = ModelDirectory.open(folder).config
            return dataclasses.replace(before, path=folder, config=config)
        settings = self.settings
        model = before
        details = {}
        tensors = model.read_tensors()
        config = model.config
        if number == 1 and settings.embedding_size:
            factorized = factorize(tensors, config, settings.embedding_size)
            tensors = factorized.tensors
            config = factorized.config
            print(
                f"word embeddings: {settings.embedding_size} of {config.hidden_size} dimensions "
                f"keep {factorized.fraction:.1%} of the squared norm"
            )
            model = model.write(
                os.path.join(settings.training.output_dir, "start"), tensors, config
            )
        if settings.prunes_units:
            importances = model.measure_importance(
                settings.importance_examples, settings.training.random_seed
            )
            retained = []
            for index, (units, fraction) in enumerate(
                zip(importances, (settings.keep_heads, settings.keep_neurons), strict=True)
            ):
                total = sum(sizes[index] for sizes in self.original.config.layer_sizes)
                # Of the original model, after this round.
                fraction = 1 - (1 - fraction) * (number / settings.rounds)
                retained.append(most_important(units, round(fraction * total)))
            tensors, config = prune(tensors, config, *retained)
            details = {
                name: [each.tolist() for each in layers]
                for name, layers in zip(("heads", "neurons"), retained, strict=True)
            }
        model = model.write(folder, tensors, config)
        write_json(mark, details)
        return model

    def _train(self, model, folder):
        """Trains a FineTunedModel in a directory, or resumes its run there.

        Returns a FineTunedModel and its scores.
        """
        task = self.original.task
        settings = dataclasses.replace(
            task.settings,
            model=ModelSettings(init_checkpoint=model.path, config=model.config),
            training=dataclasses.replace(task.settings.training, output_dir=folder),
        )
        result = self.experiment.train_once(settings)
        write_scores(folder, result.scores)
        scores = {name: value for name, value in result.scores.items() if name != "global_step"}
        result.run.free()
        return dataclasses.replace(model, path=folder), scores

    def _describe(self, config, scores):
        """Describes a model as a dict of JSON values.

        `config`: Its BertConfig; `scores`: Dict of name to float.
        """
        length = self.original.task.settings.tokenizer.max_seq_length
        flops, original_flops = (
            count_encoder_flops(each, length) for each in (config, self.original.config)
        )
        return {
            "heads": [heads for heads, _ in config.layer_sizes],
            "neurons": [neurons for _, neurons in config.layer_sizes],
            "vocab_size": config.vocab_size,
            "embedding_size": config.embedding_size or config.hidden_size,
            "parameters": config.num_parameters,
            "flops": flops,
            "flops_share": flops / original_flops,
            "scores": {name: float(value) for name, value in scores.items()},
        }


def count_encoder_flops(config, length):
    """Returns the multiplications and additions of an encoder's matrix multiplications, int.

    They are for a text of `length` tokens.
    """
    total = length * 2 * (config.embedding_size or 0) * config.hidden_size
    for heads, inner in config.layer_sizes:
        context = heads * config.head_width
        total += length * (
            8 * config.hidden_size * context + 4 * config.hidden_size * inner + 4 * length * context
        )
    return total


def _format_report(entries, metric):
    """Formats a table with one line per dict of `_Pruning._describe`.

    The first row describes the original model, and the others the rounds.
    """
    rows = []
    for number, each in enumerate(entries):
        heads, neurons = (
            f"{sum(each[name])} of {sum(entries[0][name])}" for name in ("heads", "neurons")
        )
        rows.append(
            [
                str(number or "-"),
                heads,
                neurons,
                f"{each['parameters']:,}",
                f"{each['flops_share']:.3f}",
                f"{each['scores'][metric]:.4f}",
            ]
        )
    table = format_table(
        ["round", "heads", "neurons", "parameters", "FLOPs", metric], rows, num_left=0
    )
    last = entries[-1]
    return (
        f"{table}\nheads per layer: {' '.join(map(str, last['heads']))}\n"
        f"neurons per layer: {' '.join(map(str, last['neurons']))}"
    )


def _find_used_ids(corpus, tokenizer):
    """Returns the IDs to keep: used tokens, special tokens, and the corpus's single characters.

    Used tokens occur in the corpus.

    WordPiece matches the longest token first, so removing unused tokens does not change how the
    corpus's words are split. Its characters are kept as tokens, also within words, so that other
    words of the same alphabet can be spelled. A word with a character that the corpus lacks becomes
    [UNK].

    Args:
      corpus: Paths of files of texts, such as training data; see `tables.read_all_texts`.
      tokenizer: BertTokenizer.

    Returns:
      int [n], ascending.

    Raises:
      InputError: If a file does not exist; names `prune_vocabulary` and the file.
    """
    used = np.zeros(len(tokenizer.vocabulary), bool)
    for path in corpus:
        paths.check_file("prune_vocabulary", path)
        decoder = files.LineDecoder()
        texts = tables.read_all_texts(path, decoder)
        texts = iter(tqdm(texts, desc="reading", unit="text", dynamic_ncols=True))
        while part := list(itertools.islice(texts, TEXTS_AT_ONCE)):
            used[tokenizer.tokenize(part).flat_values.numpy()] = True
        decoder.tell(path)
    bare = [token.removeprefix(SUFFIX_INDICATOR) for token in tokenizer.vocabulary]
    characters = {character for number in np.flatnonzero(used) for character in bare[number]}
    for number, token in enumerate(tokenizer.vocabulary):
        used[number] |= token in SPECIAL_PIECES or bare[number] in characters
    return np.flatnonzero(used)
