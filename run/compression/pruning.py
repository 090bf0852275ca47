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
from bert_tf.cli.script import to_flag_names
from bert_tf.cli.tables import format_table
from bert_tf.compression.pruning import drop_layers, prune
from bert_tf.compression.word_embeddings import factorize, keep_pieces
from bert_tf.errors import InputError
from bert_tf.files import read_json_object
from run.compression.distillation_settings import check_sizes
from run.compression.selection import count_encoder_flops, select
from run.compression.vocabularies import find_used_ids, write_vocabulary
from run.finetuning import job
from run.finetuning.fine_tuned_model import FineTunedModel, write_json
from run.settings import DeviceSettings
from run.techniques.distillation import TaskDistillation
from run.techniques.settings import StudentSettings, Teacher
from run.training import strategies

SETTINGS_FILE = "prune.json"  # The settings that a pruning was started with, which a resumed command must match.
ROUND, TUNED, SCORES_FILE, REPORT_FILE = "round_{}", "tuned", "scores.json", "pruning.json"


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings):
    """Prunes a model.

    Args:
      settings: PruneModelSettings, resolved.

    Raises:
      InputError: If settings or data do not match the model or each other, if output_dir contains another pruning, or
        if no model reaches `least_score`. In the last case, the best one is still written.
    """
    output_dir = settings.output_dir
    drop_layers({}, settings.model.config, settings.drop_layers)  # rejects what the model lacks
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
            pruning = _Pruning(settings, original, strategy, techniques)
            chosen, entries = pruning.run(vocabulary)
            if distillation:
                distillation.delete_outputs()
            pruning.print_result(chosen, entries)
        except InputError:
            if not was_resumed and not files.at(os.path.join(output_dir, ROUND.format(1))).exists():
                _empty_directory(output_dir)  # which was empty or new, and is free for the corrected command
            raise


def _empty_directory(folder):
    for path in (os.path.join(folder, name) for name in files.at(folder).names()):
        files.at(path).remove_any()


def _make_distillation(settings, original):
    """Creates the TaskDistillation from the original model, a FineTunedModel. `settings`: PruneModelSettings."""
    path, losses = original.path, settings.losses
    student = drop_layers({}, original.config, settings.drop_layers)[1]  # Only the attention loss depends on heads.
    check_sizes(losses, student, original.config)
    if losses.attention_weight and settings.keep_heads < 1:
        raise InputError(f"`attention_weight`={losses.attention_weight}: pruned heads cannot be compared with the "
                         "teacher's; set it to 0")
    return TaskDistillation(StudentSettings(path, student_checkpoint=path), losses,
                            Teacher(path, original.task.metadata, original.config), student, original.task)


class _Pruning:
    """A pruning in progress.

    Args:
      settings: PruneModelSettings.
      original: FineTunedModel. The original model.
      strategy: tf.distribute.Strategy to train with.
      techniques: Techniques to train with.
    """

    def __init__(self, settings, original, strategy, techniques):
        self._settings = settings
        self._output_dir, self._seed = settings.output_dir, settings.random_seed
        self._original, self._task = original, original.task
        self._strategy = strategy
        self._techniques = techniques
        self._length = original.task.settings.tokenizer.max_seq_length

    def run(self, vocabulary):
        """Prunes, and writes the final model.

        Args:
          vocabulary: int [n]. IDs of tokens to keep, None for all.

        Returns:
          Tuple of the number of the final round, and the list of the models' descriptions from `_describe_model`.
        """
        original, metric, least = self._original, self._task.metric, self._settings.least_score
        start = original if vocabulary is None else self._reduce_vocabulary(vocabulary)
        scores = start.score()
        print(f"{start.path}: {metric} {scores[metric]:.4f}", flush=True)
        if least is not None and scores[metric] < least:
            raise InputError(f"`least_score`={least:g}: the original model has {metric} {scores[metric]:.4f}; set a "
                             "lower value")
        models, entries = [start], [_describe_model(original.config, scores, original.config, self._length)]
        for number in range(1, self._settings.rounds + 1):
            model, scores = self._run_round(number, models[-1])
            models.append(model)
            entries.append(_describe_model(model.config, scores, original.config, self._length))
            print(f"round {number} of {self._settings.rounds}: {entries[-1]['flops_share']:.3f} of the FLOPs, "
                  f"{metric} {scores[metric]:.4f}", flush=True)
            if least is not None and scores[metric] < least:
                break
        chosen = self._choose(entries)
        original.write(self._output_dir, models[chosen].read_tensors(), models[chosen].config)
        write_json(os.path.join(self._output_dir, REPORT_FILE), {
            "init_checkpoint": files.at(original.path).absolute(), "metric": metric, "round": chosen,
            "whole": entries[0], "rounds": entries[1:]})
        print(_format_report(entries[: chosen + 1], metric))
        return chosen, entries

    def _run_round(self, number, before):
        """Runs round `number` on the FineTunedModel `before`; returns a FineTunedModel and its scores."""
        folder = os.path.join(self._output_dir, ROUND.format(number))
        finished = os.path.join(folder, SCORES_FILE)
        tuned = os.path.join(folder, TUNED)
        trains = bool(self._settings.num_train_epochs)
        model = self._create_pruned_model(folder, before, number)
        if files.at(finished).exists():
            scores = read_json_object(finished)
            if not isinstance(scores.get(self._task.metric), int | float):
                raise InputError(f"{finished}: has no {self._task.metric}; delete it to evaluate the model again")
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
        model = self._reduce_layers_and_embeddings(before) if number == 1 else before
        tensors, config, details = model.read_tensors(), model.config, {}
        if self._settings.prunes_units:
            scores = model.measure_importance(self._settings.importance_examples, self._seed)
            original = drop_layers({}, self._original.config, self._settings.drop_layers)[1]
            retained = select(scores, original, self._settings, number / self._settings.rounds)
            tensors, config = prune(tensors, config, retained)
            details = {"importance_examples": scores.num_examples,
                       "heads": [each.tolist() for each in retained.heads],
                       "neurons": [each.tolist() for each in retained.neurons],
                       "head_importance": [each.tolist() for each in scores.normalize().heads]}
        model = model.write(folder, tensors, config)
        write_json(mark, details)
        return model

    def _reduce_vocabulary(self, ids):
        """Creates the FineTunedModel with the tokens `ids`."""
        original = self._original
        tensors, config = keep_pieces(original.read_tensors(), original.config, ids)
        print(f"vocabulary: keeping {len(ids):,} of {original.config.vocab_size:,} tokens")
        return original.write(os.path.join(self._output_dir, "vocabulary"), tensors, config)

    def _reduce_layers_and_embeddings(self, model):
        """Drops `drop_layers` and factorizes the word embedding matrix to `embedding_size`; returns the model."""
        settings = self._settings
        if not (settings.drop_layers or settings.embedding_size):
            return model
        tensors, config = drop_layers(model.read_tensors(), model.config, settings.drop_layers)
        if settings.embedding_size:
            tensors, config, fraction = factorize(tensors, config, settings.embedding_size)
            print(f"word embeddings: {settings.embedding_size} of {config.hidden_size} dimensions keep {fraction:.1%} "
                  "of the squared norm")
        return model.write(os.path.join(self._output_dir, "start"), tensors, config)

    def _train(self, model, folder):
        """Trains a FineTunedModel in a directory, or resumes its run there; returns a FineTunedModel and its scores."""
        task = self._task
        settings = dataclasses.replace(
            task.settings, model=ModelSettings(init_checkpoint=model.path, config=model.config),
            training=dataclasses.replace(task.settings.training, output_dir=folder))
        trained, _, scores, _ = job.train_once(settings, self._strategy, task, self._techniques)
        job.write_scores(folder, scores)
        scores = {name: value for name, value in scores.items() if name != "global_step"}
        trained.free()
        return dataclasses.replace(model, path=folder), scores

    def _choose(self, entries):
        """Returns the number of the final round: the last that reaches `least_score`, otherwise the best."""
        metric, least = self._task.metric, self._settings.least_score
        values = [each["scores"][metric] for each in entries]
        rounds = range(1, len(entries))
        return max((number for number in rounds if least is None or values[number] >= least),
                   default=max(rounds, key=lambda number: values[number]))

    def print_result(self, chosen, entries):
        """Prints which round the result is from; raises InputError if it does not reach `least_score`."""
        metric, least = self._task.metric, self._settings.least_score
        score = entries[chosen]["scores"][metric]
        if least is not None and score < least:
            raise InputError(f"`least_score`={least:g}: no pruned model reaches it; {self._output_dir} contains the "
                             f"best one, from round {chosen}, with {metric} {score:.4f}")
        stopped = "" if chosen == len(entries) - 1 else f"; round {chosen + 1} is below `least_score`={least:g}"
        print(to_flag_names(
            f"{self._output_dir}: wrote the model of round {chosen}, with {metric} {score:.4f}{stopped}"))


def _describe_model(config, scores, original, length):
    """Describes a model as a dict of JSON values.

    Args:
      config: BertConfig of the model.
      scores: Dict of name to float.
      original: BertConfig of the original model.
      length: int. Tokens per text, to count FLOPs.
    """
    operations = count_encoder_flops(config, length)
    return {"heads": [heads for heads, _ in config.layer_sizes],
            "neurons": [neurons for _, neurons in config.layer_sizes],
            "vocab_size": config.vocab_size, "embedding_size": config.embedding_size or config.hidden_size,
            "parameters": config.num_parameters, "flops": operations,
            "flops_share": operations / count_encoder_flops(original, length),
            "scores": {name: float(value) for name, value in scores.items()}}


def _format_report(entries, metric):
    """Formats a table with one line per model, the original first.

    Args:
      entries: List of dicts from `_describe_model`, for the original model and each round.
      metric: Name of a score.
    """
    rows = []
    for number, each in enumerate(entries):
        heads, neurons = (f"{sum(each[name])} of {sum(entries[0][name])}" for name in ("heads", "neurons"))
        rows.append([str(number or "-"), heads, neurons, f"{each['parameters']:,}", f"{each['flops_share']:.3f}",
                     f"{each['scores'][metric]:.4f}"])
    table = format_table(["round", "heads", "neurons", "parameters", "FLOPs", metric], rows, num_left=0)
    last = entries[-1]
    return (f"{table}\nheads per layer: {' '.join(map(str, last['heads']))}\n"
            f"neurons per layer: {' '.join(map(str, last['neurons']))}")
