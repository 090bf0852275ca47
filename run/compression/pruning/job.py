"""Prunes a fine-tuned model: measures, takes out, trains on, judges, round after round.

Each round has a folder in output_dir, `round_1` and so on: the pruned model, and below it, in `tuned`, what training
made of it. A command that was stopped goes on with the round that has no scores yet. What comes out lies in output_dir.
"""

import dataclasses
import os

import tensorflow as tf

from bert_tf import files, model_folder
from bert_tf.cli.model_settings import ModelSettings
from bert_tf.cli.script import with_flags
from bert_tf.cli.settings import FIXED, MAY_CHANGE, collect
from bert_tf.compression.importance import importance
from bert_tf.compression.pruning import drop_layers, prune
from bert_tf.compression.tables import factorise, keep_pieces
from bert_tf.errors import InputError
from bert_tf.files import exists, read_json_object
from bert_tf.model_folder import task_metadata
from bert_tf.run_state import RunState, fingerprint
from run.compression.distillation.settings import check_sizes
from run.compression.folders import Origin, write_json
from run.compression.pruning import report
from run.compression.pruning.selection import select
from run.compression.stages import Stage, make_model, scores_of
from run.compression.vocabularies import smaller_vocabulary
from run.finetuning import runs
from run.finetuning.job import choose_techniques
from run.finetuning.settings import FineTuningSettings
from run.tasks import TASKS
from run.techniques.distillation import TaskDistillation
from run.techniques.settings import StudentSettings, Teacher
from run.training import model_files, strategies
from run.training.host_batches import WHOLE

SETTINGS_FILE = "prune.json"  # what a pruning was started with, with which alone it goes on
ROUND, TUNED, SCORES_FILE = "round_{}", "tuned", "scores.json"


@tf.autograph.experimental.do_not_convert  # nothing in it needs to be
def run(settings):
    """Prunes as `settings` say.

    Args:
      settings: PruneModelSettings, resolved.

    Raises:
      InputError: settings or data that do not suit the model or each other, another pruning in output_dir; no model
        reaches `least_score`, and then the best one has been written all the same.
    """
    config = settings.model.config
    task_settings = FineTuningSettings(**{name: getattr(settings, name) for name in (
        "tokenizer", "tuning", "task", "training", "step", "optimizer")})
    strategy = strategies.make_strategy(task_settings.devices)
    task = TASKS[settings.metadata.kind](task_settings, settings.metadata)
    tokenizer = settings.tokenizer.read_tokenizer(settings.model.init_checkpoint, config)
    vocabulary = None
    if settings.pruning.prune_vocabulary:
        vocabulary = smaller_vocabulary(settings.pruning.prune_vocabulary, tokenizer)
    task.read(vocabulary.tokenizer if vocabulary else tokenizer, ignore_padding=True)
    if task.eval_features is None:
        raise InputError(f"`predict_file`={settings.data.predict_file}: has no answers to compare with")
    if settings.pruning.num_train_epochs:
        task_settings.num_train_steps(task.num_train_examples)
    techniques = choose_techniques(
        task_settings, *([_make_distillation(settings, task, config)] if settings.pruning.distill else []))
    for technique in techniques:
        technique.read(task, tokenizer)
    state = RunState(settings.training.output_dir, _started_with(settings, task, techniques), name=SETTINGS_FILE,
                     alone=True)
    files.make_dirs(settings.training.output_dir)
    with files.only_writer("output_dir", settings.training.output_dir):
        state.begin()
        task.write_training_data(settings.training.output_dir)
        for technique in techniques:
            technique.begin(task, settings.training.output_dir)
        _Pruning(settings, Origin(task, (vocabulary or settings.tokenizer).vocab_file), strategy, techniques).run(
            Stage(settings.model.init_checkpoint, config), vocabulary)


def _make_distillation(settings, task, config):
    """The TaskDistillation from the model before anything is taken out of it.

    Args:
      settings: PruneModelSettings.
      task: Task that has read its data.
      config: BertConfig of that model.
    """
    path, pruning, losses = settings.model.init_checkpoint, settings.pruning, settings.losses
    student = drop_layers({}, config, pruning.drop_layers)[1]  # heads and neurons decide about no loss but one
    check_sizes(losses, student, config)
    if losses.attention_weight and (pruning.keep_heads < 1 or pruning.keep_flops is not None):
        raise InputError(f"`attention_weight`={losses.attention_weight}: heads that are taken out cannot be compared; "
                         "give 0")
    return TaskDistillation(StudentSettings(path, student_checkpoint=path), losses, settings.answers,
                            Teacher(path, task.metadata, config), student)


class _Pruning:
    """A pruning under way.

    Args:
      settings: PruneModelSettings.
      origin: Origin of all its models.
      strategy: tf.distribute.Strategy to train with.
      techniques: Technique objects to train with.
    """

    def __init__(self, settings, origin, strategy, techniques):
        self._settings = settings.pruning
        self._output_dir = settings.training.output_dir
        self._seed = settings.training.random_seed
        self._origin = origin
        self._strategy = strategy
        self._techniques = techniques
        self._length = origin.task.settings.tokenizer.max_seq_length

    def run(self, whole, vocabulary):
        """Prunes the Stage `whole`, and writes what comes out; vocabulary: vocabularies.Smaller, or None."""
        task, least = self._origin.task, self._settings.least_score
        start = self._with_vocabulary(whole, vocabulary) if vocabulary else whole
        scores = scores_of(start, task)
        print(f"{start.folder}: {task.metric} {scores[task.metric]:.4f}", flush=True)
        if least is not None and scores[task.metric] < least:
            raise InputError(f"`least_score`={least:g}: the whole model has {task.metric} {scores[task.metric]:.4f}")
        stages, entries = [], [report.entry(whole.config, scores, whole.config, self._length)]
        for number in range(1, self._settings.rounds + 1):
            stage, scores = self._round(number, stages[-1] if stages else start, whole.config)
            stages.append(stage)
            entries.append(report.entry(stage.config, scores, whole.config, self._length))
            print(f"round {number} of {self._settings.rounds}: {entries[-1]['flops_share']:.3f} of the operations, "
                  f"{task.metric} {scores[task.metric]:.4f}", flush=True)
            if least is not None and scores[task.metric] < least:
                break
        chosen = self._choose(entries)
        self._origin.write(self._output_dir, stages[chosen - 1].tensors(), stages[chosen - 1].config)
        write_json(os.path.join(self._output_dir, report.REPORT_FILE), {
            "init_checkpoint": files.absolute(whole.folder), "metric": task.metric, "round": chosen,
            "whole": entries[0], "rounds": entries[1:]})
        print(report.as_text(entries[: chosen + 1], task.metric))
        self._say_what_came_out(chosen, entries)

    def _round(self, number, before, whole):
        """Round `number`, of a Stage; whole: BertConfig of the model before the first. Returns a Stage and scores."""
        folder = os.path.join(self._output_dir, ROUND.format(number))
        finished = os.path.join(folder, SCORES_FILE)
        trains = bool(self._settings.num_train_epochs)
        stage = self._pruned(folder, before, whole, number)
        if exists(finished):
            scores = read_json_object(finished)
            if not isinstance(scores.get(self._origin.task.metric), int | float):
                raise InputError(f"{finished}: has no {self._origin.task.metric}; remove it to judge the model again")
            return Stage(os.path.join(folder, TUNED) if trains else folder, stage.config), scores
        if trains:
            stage, scores = _train(stage, self._origin, self._strategy, os.path.join(folder, TUNED), self._techniques)
        else:
            scores = scores_of(stage, self._origin.task)
        write_json(finished, {name: float(value) for name, value in scores.items()})
        return stage, scores

    def _pruned(self, folder, before, whole, number):
        """The Stage of the pruned model of a round, made unless the folder has it whole."""
        mark = os.path.join(folder, report.REPORT_FILE)
        if exists(mark):
            return Stage(folder, model_folder.read_config(model_folder.find_config(folder)))
        stage = self._without_layers_and_table(before) if number == 1 else before
        tensors, config, said = stage.tensors(), stage.config, {}
        if self._settings.takes_out_units:
            scores = _measure_importance(stage, self._origin.task, self._settings.importance_examples, self._seed)
            kept = select(scores, config, drop_layers({}, whole, self._settings.drop_layers)[1], self._settings,
                          number / self._settings.rounds, self._length)
            tensors, config = prune(tensors, config, kept)
            said = {"importance_examples": scores.num_examples,
                    "heads": [each.tolist() for each in kept.heads],
                    "neurons": [each.tolist() for each in kept.neurons],
                    "head_importance": [each.tolist() for each in scores.normalised().heads]}
        self._origin.write(folder, tensors, config)
        write_json(mark, said)
        return Stage(folder, config)

    def _with_vocabulary(self, stage, vocabulary):
        """The Stage with the pieces that stay."""
        tensors, config = keep_pieces(stage.tensors(), stage.config, vocabulary.ids)
        print(f"vocabulary: {len(vocabulary.ids):,} of {stage.config.vocab_size:,} pieces stay")
        return self._written("vocabulary", tensors, config)

    def _without_layers_and_table(self, stage):
        """The Stage without `drop_layers`, its word table factorised to `embedding_size`; itself without either."""
        settings = self._settings
        if not (settings.drop_layers or settings.embedding_size):
            return stage
        tensors, config = drop_layers(stage.tensors(), stage.config, settings.drop_layers)
        if settings.embedding_size:
            tensors, config, share = factorise(tensors, config, settings.embedding_size)
            print(f"word table: {settings.embedding_size} of {config.hidden_size} directions hold {share:.1%} of its "
                  "squares")
        return self._written("start", tensors, config)

    def _written(self, name, tensors, config):
        """The Stage of a model in a folder of output_dir."""
        folder = os.path.join(self._output_dir, name)
        self._origin.write(folder, tensors, config)
        return Stage(folder, config)

    def _choose(self, entries):
        """The number of the round that comes out: the last that reaches the floor, else the best."""
        metric, least = self._origin.task.metric, self._settings.least_score
        values = [each["scores"][metric] for each in entries]
        rounds = range(1, len(entries))
        return max((number for number in rounds if least is None or values[number] >= least),
                   default=max(rounds, key=lambda number: values[number]))

    def _say_what_came_out(self, chosen, entries):
        metric, least = self._origin.task.metric, self._settings.least_score
        score = entries[chosen]["scores"][metric]
        if least is not None and score < least:
            raise InputError(f"`least_score`={least:g}: no pruned model reaches it; {self._output_dir} holds the best, "
                             f"of round {chosen}, with {metric} {score:.4f}")
        stopped = "" if chosen == len(entries) - 1 else f"; round {chosen + 1} fell below `least_score`={least:g}"
        print(with_flags(f"{self._output_dir}: the model of round {chosen}, with {metric} {score:.4f}{stopped}"))


def _measure_importance(stage, task, num_examples, seed):
    """The Importance of a Stage's heads and neurons over so many training examples, rounded up to whole batches."""
    batch_size = task.settings.training.train_batch_size
    batches = task.training_batches(seed, 0, WHOLE, static_shapes=False).take(-(-num_examples // batch_size))
    return importance(make_model(stage, task, remove_padding=False), task.loss, batches)


def _train(stage, origin, strategy, folder, techniques):
    """Trains a Stage's model as the task's settings say, in a folder of its own; goes on where a run there was stopped.

    Args:
      stage: Stage.
      origin: run.compression.folders.Origin.
      strategy: tf.distribute.Strategy.
      folder: of the run.
      techniques: Technique objects to train with.

    Returns:
      The Stage of the trained model, and its scores.
    """
    task = origin.task
    settings = dataclasses.replace(
        task.settings, model=ModelSettings(init_checkpoint=stage.folder),
        training=dataclasses.replace(task.settings.training, output_dir=folder))
    model_files.keep(folder, stage.config, origin.vocab_file)
    task_metadata.keep(folder, task.metadata)
    shared = runs.Shared(strategy, stage.config, task, techniques)
    tuned = runs.one_run(settings, shared)
    runs.write_results(folder, shared, tuned.results)
    scores = {name: value for name, value in tuned.results.items() if name != "global_step"}
    tuned.free()
    return Stage(folder, stage.config), scores


def _started_with(settings, task, techniques):
    """Dict of what a pruning is started with, with which alone it goes on."""
    return {
        "init_checkpoint": files.absolute(settings.model.init_checkpoint),
        **{name: fingerprint(paths) for name, paths in task.training_files.items()},
        **task.kept_settings, **{name: value for each in techniques for name, value in each.resume().items()},
        "max_seq_length": task.settings.tokenizer.max_seq_length,
        **settings.pruning.values(), **collect(FIXED, settings.training),
        "random_seed": settings.training.random_seed,
        **collect(MAY_CHANGE, settings.optimizer, settings.step), **collect(FIXED, settings.optimizer),
    }
