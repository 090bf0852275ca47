"""Pruning of a fine-tuned model in rounds: measure importance, prune, fine-tune, and evaluate.

Each round has a directory in output_dir, such as `round_1`, with the pruned model, and below it, in `tuned`, the model
after fine-tuning. An interrupted command resumes with the first round without scores. The final model is in output_dir.
"""

import dataclasses
import os

import tensorflow as tf

from bert_tf import files, model_folder
from bert_tf.cli.model_settings import ModelSettings
from bert_tf.cli.run_state import RunState, fingerprint, snapshot
from bert_tf.cli.tables import format_table
from bert_tf.compression.pruning import RetainedUnits, most_important, prune
from bert_tf.compression.word_embeddings import factorize, keep_pieces
from bert_tf.errors import InputError
from bert_tf.files import read_json_object
from run.compression.distillation_settings import check_sizes
from run.compression.settings import PruneModelSettings
from run.compression.vocabularies import find_used_ids, write_vocabulary
from run.finetuning import job
from run.finetuning.fine_tuned_model import FineTunedModel, write_json
from run.settings.training import DeviceSettings
from run.techniques.distillation import TaskDistillation
from run.techniques.settings import Teacher
from run.training import strategies

SETTINGS_FILE = "prune.json"  # The settings that a pruning was started with, which a resumed command must match.
ROUND, TUNED, SCORES_FILE, REPORT_FILE = "round_{}", "tuned", "scores.json", "pruning.json"


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings):
    """Prunes a model.

    Args:
      settings: PruneModelSettings, resolved.

    Raises:
      InputError: If settings or data do not match the model or each other, or if output_dir contains another pruning.
    """
    output_dir = settings.training.output_dir
    strategy = strategies.make_strategy(DeviceSettings(), settings.mixed_precision)
    tokenizer = settings.tokenizer.read_tokenizer(settings.model.init_checkpoint, settings.model.config)
    vocabulary, opened = None, settings
    if settings.prune_vocabulary:
        vocabulary = find_used_ids(settings.prune_vocabulary, tokenizer)
        opened = settings.replace_values({"vocab_file": write_vocabulary(tokenizer, vocabulary)})
    original = FineTunedModel.open(opened)
    task = original.task
    if settings.num_train_epochs:
        task.settings.num_train_steps(task.num_train_examples)
    task.folder, techniques = output_dir, job.choose_techniques(task.settings)
    task.started_with = {name: fingerprint(paths) for name, paths in task.training_files.items()}
    distillation = _make_distillation(settings, original) if settings.distill else None
    if distillation:
        techniques.append(distillation)
    state = RunState(output_dir, snapshot(settings, task.data.resolved_settings), {
        **task.started_with, "init_checkpoint": files.at(settings.model.init_checkpoint).absolute()},
        name=SETTINGS_FILE, must_be_empty=True)
    with files.folder_for(output_dir), files.lock_output("output_dir", output_dir):
        was_resumed = state.is_resumed
        try:
            state.begin()
            task.write_training_data()
            _Pruning(settings, original, strategy, techniques).run(vocabulary)
            if distillation:
                distillation.delete_outputs()
        except InputError:
            if not was_resumed and not files.at(os.path.join(output_dir, ROUND.format(1))).exists():
                for name in files.at(output_dir).names():  # It was empty or new; frees it for the corrected command.
                    files.at(os.path.join(output_dir, name)).remove_any()
            raise


def _make_distillation(settings, original):
    """Creates the TaskDistillation from the original model, a FineTunedModel. `settings`: PruneModelSettings."""
    path, losses, config = original.path, settings.losses, original.config  # Only the attention loss depends on heads.
    check_sizes(losses, config, config)
    if losses.attention_weight and settings.keep_heads < 1:
        raise InputError(f"`attention_weight`={losses.attention_weight}: pruned heads cannot be compared with the "
                         "teacher's; set it to 0")
    return TaskDistillation(losses, Teacher(path, original.task.metadata, config), config, original.task)


@dataclasses.dataclass(frozen=True)
class _Pruning:
    """A pruning in progress.

    Attributes:
      settings: PruneModelSettings.
      original: FineTunedModel. The original model.
      strategy: tf.distribute.Strategy to train with.
      techniques: List of techniques to train with.
    """

    settings: PruneModelSettings
    original: FineTunedModel
    strategy: tf.distribute.Strategy
    techniques: list

    def run(self, vocabulary):
        """Prunes, writes the final model, and prints the results. `vocabulary`: int [n], IDs to keep; None for all."""
        original, metric, folder = self.original, self.original.task.metric, self.settings.training.output_dir
        model = original if vocabulary is None else self._reduce_vocabulary(vocabulary)
        scores = model.score()
        print(f"{model.path}: {metric} {scores[metric]:.4f}", flush=True)
        entries = [self._describe(original.config, scores)]
        for number in range(1, self.settings.rounds + 1):
            model, scores = self._run_round(number, model)
            entries.append(self._describe(model.config, scores))
            print(f"round {number} of {self.settings.rounds}: {entries[-1]['flops_share']:.3f} of the FLOPs, "
                  f"{metric} {scores[metric]:.4f}", flush=True)
        original.write(folder, model.read_tensors(), model.config)
        write_json(os.path.join(folder, REPORT_FILE), {
            "init_checkpoint": files.at(original.path).absolute(), "metric": metric, "whole": entries[0],
            "rounds": entries[1:]})
        print(_format_report(entries, metric))
        print(f"{folder}: wrote the model of round {self.settings.rounds}, with {metric} {scores[metric]:.4f}")

    def _run_round(self, number, before):
        """Runs round `number` on the FineTunedModel `before`; returns a FineTunedModel and its scores."""
        folder = os.path.join(self.settings.training.output_dir, ROUND.format(number))
        finished = os.path.join(folder, SCORES_FILE)
        tuned = os.path.join(folder, TUNED)
        trains = bool(self.settings.num_train_epochs)
        model = self._create_pruned_model(folder, before, number)
        if files.at(finished).exists():
            scores = read_json_object(finished)
            metric = self.original.task.metric
            if not isinstance(scores.get(metric), int | float):
                raise InputError(f"{finished}: has no {metric}; delete it to evaluate the model again")
            return dataclasses.replace(model, path=tuned) if trains else model, scores
        if trains:
            model, scores = self._train(model, tuned)
        else:
            scores = model.score()
        write_json(finished, {name: float(value) for name, value in scores.items()})
        return model, scores

    def _create_pruned_model(self, folder, before, number):
        """Returns the FineTunedModel of a round's pruned model, created unless it already exists completely."""
        mark = os.path.join(folder, REPORT_FILE)
        if files.at(mark).exists():
            config = model_folder.read_config(model_folder.find_config(folder))
            return dataclasses.replace(before, path=folder, config=config)
        model = self._factorize_embeddings(before) if number == 1 and self.settings.embedding_size else before
        tensors, config, details = model.read_tensors(), model.config, {}
        if self.settings.prunes_units:
            scores = model.measure_importance(self.settings.importance_examples, self.settings.training.random_seed)
            retained = select(scores, self.original.config, self.settings, number / self.settings.rounds)
            tensors, config = prune(tensors, config, retained)
            details = {"heads": [each.tolist() for each in retained.heads],
                       "neurons": [each.tolist() for each in retained.neurons]}
        model = model.write(folder, tensors, config)
        write_json(mark, details)
        return model

    def _reduce_vocabulary(self, ids):
        """Creates the FineTunedModel with the tokens `ids`."""
        original = self.original
        tensors, config = keep_pieces(original.read_tensors(), original.config, ids)
        print(f"vocabulary: keeping {len(ids):,} of {original.config.vocab_size:,} tokens")
        return original.write(os.path.join(self.settings.training.output_dir, "vocabulary"), tensors, config)

    def _factorize_embeddings(self, model):
        """Factorizes the word embedding matrix to `embedding_size`; returns the FineTunedModel."""
        size = self.settings.embedding_size
        tensors, config, fraction = factorize(model.read_tensors(), model.config, size)
        print(f"word embeddings: {size} of {config.hidden_size} dimensions keep {fraction:.1%} of the squared norm")
        return model.write(os.path.join(self.settings.training.output_dir, "start"), tensors, config)

    def _train(self, model, folder):
        """Trains a FineTunedModel in a directory, or resumes its run there; returns a FineTunedModel and its scores."""
        task = self.original.task
        settings = dataclasses.replace(
            task.settings, model=ModelSettings(init_checkpoint=model.path, config=model.config),
            training=dataclasses.replace(task.settings.training, output_dir=folder))
        trained, _, scores, _ = job.train_once(settings, self.strategy, task, self.techniques)
        job.write_scores(folder, scores)
        scores = {name: value for name, value in scores.items() if name != "global_step"}
        trained.free()
        return dataclasses.replace(model, path=folder), scores

    def _describe(self, config, scores):
        """Describes a model as a dict of JSON values. `config`: Its BertConfig; `scores`: Dict of name to float."""
        length = self.original.task.settings.tokenizer.max_seq_length
        flops, original_flops = (count_encoder_flops(each, length) for each in (config, self.original.config))
        return {"heads": [heads for heads, _ in config.layer_sizes],
                "neurons": [neurons for _, neurons in config.layer_sizes],
                "vocab_size": config.vocab_size, "embedding_size": config.embedding_size or config.hidden_size,
                "parameters": config.num_parameters, "flops": flops, "flops_share": flops / original_flops,
                "scores": {name: float(value) for name, value in scores.items()}}


def count_encoder_flops(config, length):
    """Returns the multiplications and additions of an encoder's matrix products for a text of `length` tokens, int."""
    total = length * 2 * (config.embedding_size or 0) * config.hidden_size
    for heads, inner in config.layer_sizes:
        context = heads * config.head_width
        total += length * (8 * config.hidden_size * context + 4 * config.hidden_size * inner + 4 * length * context)
    return total


def select(importance, original, settings, part):
    """Selects the heads and neurons to keep after a part of a pruning.

    Args:
      importance: bert_tf.compression.importance.Importance of the current model.
      original: BertConfig of the original model, which fractions refer to.
      settings: PruneModelSettings.
      part: float in (0, 1]. Fraction of the pruning to have completed.

    Returns:
      RetainedUnits.
    """
    values, retained = importance.normalize(), []
    for number, (units, fraction) in enumerate(((values.heads, settings.keep_heads),
                                                (values.neurons, settings.keep_neurons))):
        total = sum(sizes[number] for sizes in original.layer_sizes)
        fraction = 1 - (1 - fraction) * part
        retained.append(most_important(units, round(fraction * total)))
    return RetainedUnits(*retained)


def _format_report(entries, metric):
    """Formats a table with one line per dict of `_Pruning._describe`, of the original model and of each round."""
    rows = []
    for number, each in enumerate(entries):
        heads, neurons = (f"{sum(each[name])} of {sum(entries[0][name])}" for name in ("heads", "neurons"))
        rows.append([str(number or "-"), heads, neurons, f"{each['parameters']:,}", f"{each['flops_share']:.3f}",
                     f"{each['scores'][metric]:.4f}"])
    table = format_table(["round", "heads", "neurons", "parameters", "FLOPs", metric], rows, num_left=0)
    last = entries[-1]
    return (f"{table}\nheads per layer: {' '.join(map(str, last['heads']))}\n"
            f"neurons per layer: {' '.join(map(str, last['neurons']))}")
