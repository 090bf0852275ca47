"""Runs of a task: one, from its model to its results, and several over seeds."""

import dataclasses
import functools
import os
import statistics
from collections.abc import Callable

import tensorflow as tf

from bert_tf.checkpoints import adapters, holds_adapters, load_pretrained, model_tensors
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.fast import FastEncoder
from bert_tf.files import exists
from bert_tf.model_folder import BEST_FOLDER
from bert_tf.optimization import layerwise_factors
from bert_tf.techniques import lora, sparsity
from bert_tf.techniques.freezing import freeze
from bert_tf.techniques.int8 import FakeQuantization, quantize
from run.arrays import prediction
from run.evaluation import results as evaluation_results
from run.finetuning.settings import SEARCH_FOLDER
from run.tasks.base import Task
from run.training import loop, strategies
from run.training.checkpoints import ADAPTER_FILE
from run.training.optimizer import make_optimizer

RESULTS_FILE = "eval_results.txt"


@dataclasses.dataclass(frozen=True)
class Shared:
    """What all runs of a command have in common.

    Attributes:
      strategy: tf.distribute.Strategy.
      config: BertConfig.
      task: Task that has read its data.
      new_variables: names of the model's variables that init_checkpoint is not to give.
      begin: called before each training, when its model has its first weights: nothing is written before that, so that
        a checkpoint that is refused changes no file.
    """

    strategy: tf.distribute.Strategy
    config: BertConfig
    task: Task
    new_variables: tuple[str, ...] = ()
    begin: Callable[[], None] = lambda: None

    @property
    def writes(self):
        """Whether this process, of several that train together, is the one that writes files."""
        return strategies.is_chief(self.strategy)


@dataclasses.dataclass(frozen=True)
class FineTuned:
    """A model to use.

    Attributes:
      model: of bert_tf.models, with the weights to use.
      optimizer: that it was trained with.
      predictor: Predictor of it.
      folder: of the run.
      step: int, of the weights.
      results: dict of name -> float; empty without evaluation.
      eval_outputs: the model's outputs for the development data, dict of arrays; None without evaluation.
    """

    model: object
    optimizer: object
    predictor: object
    folder: str
    step: int
    results: dict
    eval_outputs: dict | None

    def free(self):
        """Gives the memory of weights and moments back; the model is of no use after that."""
        free([*self.model.variables, *self.optimizer.variables])


def over_seeds(settings, shared):
    """Trains and evaluates, once for each seed, and writes eval_results.txt.

    Args:
      settings: FineTuningSettings.
      shared: Shared.

    Returns:
      FineTuned: the run with the best metric, the first without evaluation.
    """
    metric = shared.task.metric
    best, all_results = None, []
    for run in settings.runs:
        tuned = one_run(run, shared)
        write_results(tuned.folder, shared, tuned.results)
        all_results.append(tuned.results)
        if best is None or (tuned.results and tuned.results[metric] > best.results[metric]):
            best, tuned = tuned, best
        if tuned is not None:
            tuned.free()
    if len(all_results) > 1 and best.results:
        write_results(settings.training.output_dir, shared, _mean_and_deviation(all_results))
        print(f"best of {len(all_results)} runs by {metric}: {best.folder}")
    return best


def one_run(settings, shared):
    """Trains and evaluates one run, as far as `settings` say, in its folder.

    Args:
      settings: FineTuningSettings, of the same data as those that `shared.task` was made with.
      shared: Shared.

    Returns:
      FineTuned.

    Raises:
      InputError: there is nothing to train, and no trained model to use.
      DivergedError: a loss that is not finite.
    """
    strategy, tuning = shared.strategy, settings.tuning
    task = shared.task.with_settings(settings)
    num_train_steps = settings.num_train_steps(task.num_train_examples) if tuning.do_train else 1
    is_dynamic = may_group_by_length(settings, strategy)
    seed = settings.training.random_seed
    with strategy.scope():
        model = task.new_model(lambda: _encoder(settings, shared))
        optimizer = make_optimizer(settings.optimizer, settings.step, num_train_steps,
                                   int(num_train_steps * tuning.warmup_proportion))
        if tuning.do_train:
            _choose_trained_weights(settings.trained_weights, model, optimizer, seed)
        trained = task.in_training(model, optimizer, num_train_steps)
        if settings.weight_pruning.weight_pruning:
            sparsity.prune_in_training(
                _pruning_schedule(settings.weight_pruning, num_train_steps), model.encoder, optimizer)
    if tuning.quantize_from_step is not None:
        # Without training there is no step: what is evaluated is the model as int8.
        is_on = (lambda: optimizer.iterations >= tuning.quantize_from_step) if tuning.do_train else None
        quantize(model, FakeQuantization(is_on))
    predictor = prediction.Predictor(
        strategy, model, per_position=task.per_position, static_shapes=not is_dynamic, inputs=task.inputs)
    predict_eval = lambda: predictor(task.eval_features, task.eval_batch_size, "evaluating")
    training_run = _training_run(settings, shared, model, optimizer, num_train_steps, trained)
    if tuning.do_train:
        shared.begin()
        task = shared.task.with_settings(settings)  # which may have written its training data
        try:
            training_run.train(
                _batches_of(task, settings, strategy, static_shapes=not is_dynamic),
                evaluate=(lambda: task.score(predict_eval())) if tuning.eval_steps else None)
        except loop.DivergedError:
            free([*model.variables, *optimizer.variables])
            raise
    elif not training_run.step:
        _check_trained(settings, [name for name in training_run.missing if task.needs(name)])
    best_step = training_run.restore_best()
    step = best_step or training_run.step
    _merge_adapters(settings, shared, model, os.path.join(
        settings.training.output_dir, BEST_FOLDER if best_step else "") if step else None)
    if settings.weight_pruning.weight_pruning:
        print(f"{settings.training.output_dir}: {_described_pruning(model)}")
    results, outputs = {}, None
    if task.eval_features is not None:
        outputs = predict_eval()
        results = {**task.score(outputs), "global_step": step}
    return FineTuned(model, optimizer, predictor, settings.training.output_dir, step, results, outputs)


def _encoder(settings, shared):
    """The encoder of a run; to be created in the strategy's scope."""
    fast = strategies.choose_fast(
        shared.strategy, shared.config, settings.step.jit_compile, recompute=settings.step.recompute_activations,
        remove_padding=may_group_by_length(settings, shared.strategy))
    return FastEncoder(shared.config, fast, seed=settings.training.random_seed, dtype=settings.step.dtype_policy)


def _batches_of(task, settings, strategy, static_shapes):
    """The `make_dataset` of a task's training, see loop.TrainingRun.train: of examples one a row, or packed."""
    seed = settings.training.random_seed
    if not settings.tuning.pack_sequences:
        return functools.partial(task.training_batches, seed, static_shapes=static_shapes)
    return functools.partial(task.packed_training_batches, seed, multiple=(
        strategy.num_replicas_in_sync * settings.step.accumulate_steps))


def write_results(folder, shared, results):
    """Writes and prints eval_results.txt, where there are results and this process writes."""
    if shared.writes and results:
        evaluation_results.write_results(os.path.join(folder, RESULTS_FILE), results)


def may_group_by_length(settings, strategy):
    """Whether batches may be of examples of similar length, and padding left out."""
    return (settings.tuning.group_by_length and not settings.step.jit_compile
            and strategies.allows_dynamic_shapes(strategy))


def free(variables):
    """Takes the values out of variables that nothing uses any more.

    TensorFlow holds on to the variables of a function as long as the process lives, whoever else lets go of them.
    """
    for variable in variables:
        for part in variable.values if isinstance(variable, tf.distribute.DistributedValues) else (variable,):
            tf.raw_ops.AssignVariableOp(resource=part.handle, value=tf.zeros([0], part.dtype), validate_shape=False)


def _choose_trained_weights(chosen, model, optimizer, seed):
    """Has a model of bert_tf.models and its optimizer train what TrainedWeightsSettings say, at the rates they say."""
    if chosen.lora_rank:
        lora.add_adapters(model.encoder, chosen.lora_rank, chosen.lora_alpha, seed, chosen.freeze_layers or 0)
    elif chosen.freeze_layers is not None:
        freeze(model.encoder, chosen.freeze_layers)
    if chosen.layerwise_learning_rate_decay != 1.0:
        optimizer.set_rate_factors(layerwise_factors(
            model.trainable_variables, model.encoder.config.num_hidden_layers, chosen.layerwise_learning_rate_decay))


def _merge_adapters(settings, shared, model, restored):
    """Gives a model whose weights are restored plain kernels, where the run has adapters; keeps these in their file.

    `restored`: the folder that the weights are of, None for those that are of no run.
    """
    if settings.tuning.do_train and settings.trained_weights.lora_rank:
        if shared.writes:
            heads = [variable.name.removesuffix(":0") for variable in model.trainable_variables]
            path = os.path.join(settings.training.output_dir, ADAPTER_FILE)
            size = adapters.write(path, model_tensors(model), [
                name for name in heads if shared.task.needs(name) and not adapters.is_adapter(name)])
            print(f"{path}: the adapters and the head, {size / 1e6:.2f} MB")
        lora.merge_adapters(model.encoder)
    elif restored and not settings.tuning.do_train and holds_adapters(restored):
        load_pretrained(model, restored)


def _pruning_schedule(pruning, num_train_steps):
    begin, end = (round(share * num_train_steps) for share in (pruning.pruning_begin, pruning.pruning_end))
    return sparsity.PruningSchedule(pruning.keep_weights, begin, max(1, end))


def _described_pruning(model):
    """What is left of a model whose weights were pruned, in words."""
    stay, all_of_them = sparsity.share_of_weights(model.encoder)
    total, compressed = sparsity.compressed_bytes(model.trainable_variables)
    return (f"{stay:,} of {all_of_them:,} weights of the encoder's matrices are not 0 ({stay / all_of_them:.1%}); all "
            f"weights take {total / 1e6:.1f} MB, compressed as by gzip {compressed / 1e6:.1f} MB")


def _training_run(settings, shared, model, optimizer, num_train_steps, trained):
    task, eval_steps = shared.task.with_settings(settings), settings.tuning.eval_steps
    pruning = settings.weight_pruning
    evaluations = loop.Evaluations(
        eval_steps, task.metric if eval_steps else None, settings.tuning.early_stopping_evals,
        _pruning_schedule(pruning, num_train_steps).end if pruning.weight_pruning else 0)
    return loop.TrainingRun(
        shared.strategy, model, optimizer, trained.loss, settings.training, num_train_steps,
        step_settings=settings.step, init_checkpoint=task.init_checkpoint, init_layers=trained.init_layers,
        new_variables=shared.new_variables, evaluations=evaluations, network=trained.network, aside=trained.aside,
        trains=settings.tuning.do_train, flops_of=lambda tokens: task.training_flops(model, tokens))


def _check_trained(settings, missing):
    """Raises InputError unless init_checkpoint has all of a task model; `missing`: the variables it lacks."""
    output_dir, checkpoint = settings.training.output_dir, settings.model.init_checkpoint
    if not checkpoint:
        hint = "train first, or give `init_checkpoint`"
        if exists(os.path.join(output_dir, "run_1")):
            hint = "give its `num_runs`"
        if exists(os.path.join(output_dir, SEARCH_FOLDER)):
            hint = "its search has not come to its end, go on with it"
        raise InputError(f"`output_dir`={output_dir}: holds no checkpoint to evaluate; {hint}")
    if missing:
        raise InputError(f"`init_checkpoint`={checkpoint}: is not of a model that was trained for this task, it lacks "
                         f"{', '.join(missing)}; give `do_train`, or the `output_dir` of a run")


def _mean_and_deviation(all_results):
    """The mean of each result over runs, and its standard deviation as NAME_std."""
    results = {}
    for name in all_results[0]:
        values = [each[name] for each in all_results]
        results[name] = statistics.mean(values)
        results[f"{name}_std"] = statistics.stdev(values)
    return results
