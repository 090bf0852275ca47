"""The pre-training job: records, model, training run, evaluation."""

import contextlib
import os

import tensorflow as tf

from bert_tf import files, losses, models
from bert_tf.cli.run_state import RunState, fingerprint
from bert_tf.cli.script import to_flag_names
from bert_tf.cli.settings import FIXED, MAY_CHANGE, collect
from bert_tf.errors import InputError
from bert_tf.fast import FastEncoder
from run.evaluation.results import write_results
from run.pretraining import evaluation, phases
from run.pretraining.data import PretrainingData
from run.techniques.base import Build
from run.training import clusters, loop, model_files, strategies
from run.training.optimizer import make_optimizer

RESULTS_FILE = "eval_results.txt"
HEADS = "cls/"  # Prefix of the names of the variables that an evaluation requires.


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings, techniques=()):
    """Trains and evaluates a model.

    Args:
      settings: PretrainingSettings, resolved.
      techniques: Sequence of run.techniques.base.Technique.

    Raises:
      InputError: If settings do not match the devices, the records, or the run in output_dir; if a loss is not finite;
        or if a record is invalid (with file and byte).
    """
    schedule, output_dir, config = settings.schedule, settings.training.output_dir, settings.model.config
    strategy = make_strategy(settings)  # Must precede all TensorFlow computation.
    data = [PretrainingData(phase.settings, config) for phase in phases.get_phases(settings)]
    for note in settings.notes():
        print(note)
    strategies.warn_about_slow_precision(settings.step.mixed_precision, strategies.device_type(strategy))
    started_with = _collect_fixed_settings(settings, data) if schedule.do_train else {}
    if schedule.do_train:
        for technique in techniques:
            started_with |= technique.resume()
        model_files.check_directory(output_dir, config, settings.tokenizer)
    model_files.check_run_files(output_dir, config, settings.tokenizer)
    state = RunState(output_dir, started_with,
                     collect(MAY_CHANGE, settings.optimizer, settings.adam, settings.step, settings.schedule))
    trains_here = schedule.do_train and strategies.is_chief(strategy)
    with files.folder_for(output_dir), (
            files.lock_output("output_dir", output_dir) if trains_here else contextlib.nullcontext()):
        training_run, model = start(settings, strategy, config, techniques)  # Writes nothing if this fails.
        if trains_here:
            if changes := state.changes:
                print(to_flag_names(f"{output_dir}: {changes}"))
            state.begin()
            model_files.save_run_files(output_dir, config, settings.tokenizer)
        _train_and_evaluate(settings, strategy, data, training_run, model)


def _train_and_evaluate(settings, strategy, data, training_run, model):
    """Trains and evaluates after all checks, when the files next to the checkpoints and the weights exist."""
    schedule = settings.schedule
    parts = phases.get_phases(settings)
    evaluator = evaluation.PretrainingEvaluator(
        strategy, model, sentence_label(settings), get_objective(settings).token_loss)
    drop_remainder = not strategies.allows_dynamic_shapes(strategy)

    def evaluate():
        """Evaluates on records of the last step's phase."""
        current = max(0, sum(phase.first_step < training_run.step for phase in parts) - 1)
        return evaluator(lambda share: data[current].evaluation_batches(share, drop_remainder), schedule.max_eval_steps)

    results = None
    with contextlib.ExitStack() as stack:
        stack.enter_context(clusters.explain_lost_workers(strategy, settings.training.output_dir))
        for each in data:
            stack.enter_context(each.name_bad_file())
        if schedule.do_train:
            results = training_run.train([
                loop.Phase(phase.first_step, each.training_batches, phase.settings.training.train_batch_size)
                for phase, each in zip(parts, data, strict=True)], evaluate if schedule.eval_steps else None)
        if schedule.do_eval:
            results = results or evaluate()
    if schedule.do_eval and strategies.is_chief(strategy):
        write_results(os.path.join(settings.training.output_dir, RESULTS_FILE), {
            **results, "global_step": training_run.step})


def make_strategy(settings):
    """Creates the strategy of PretrainingSettings, and checks the batch sizes in use against its replicas."""
    strategy = strategies.make_strategy(settings.devices)
    if settings.schedule.do_train:
        for phase in phases.get_phases(settings):
            strategies.check_batch_size("train_batch_size", phase.settings.training.train_batch_size, strategy,
                                        settings.step.accumulate_steps)
    if settings.schedule.do_eval:
        strategies.check_batch_size("eval_batch_size", settings.training.eval_batch_size, strategy)
    return strategy


def _collect_fixed_settings(settings, data):
    """Returns the settings that a resumed run must match, as a dict."""
    fixed_settings = data[0].fixed_settings
    if settings.schedule.phases:
        fixed_settings["input_file"] = fingerprint([path for each in data for path in each.files])
    return {**fixed_settings, **collect(FIXED, settings.schedule, settings.training, settings.optimizer),
            "random_seed": settings.training.random_seed}


def choose_fast(settings, strategy, config, **options):
    """Returns the Fast for the encoder of PretrainingSettings, or for its teacher. `options`: Other fields of Fast."""
    step = settings.step
    return strategies.choose_fast(
        strategy, config, step.jit_compile, step.mixed_precision != "float32", **options,
        remove_padding=strategies.allows_dynamic_shapes(strategy) and not step.jit_compile)


def sentence_label(settings):
    """Returns the name of the sentence-level label of PretrainingSettings, or None."""
    return get_objective(settings).sentence_label


def get_objective(settings):
    """Returns the Objective of PretrainingSettings."""
    return settings.records.instances.objective_spec


def start(settings, strategy, config, techniques=()):
    """Creates the model and opens its run. See `run` for the arguments.

    Returns:
      Tuple of TrainingRun and BertPretrainer.

    Raises:
      InputError: If there is nothing to train, and no trained model to evaluate.
    """
    schedule, checkpoint = settings.schedule, settings.model.init_checkpoint
    with strategy.scope():
        fast = choose_fast(settings, strategy, config, recompute=settings.step.recompute_activations)
        encoder = FastEncoder(config, fast, seed=settings.training.random_seed, dtype=settings.step.dtype_policy)
        model = models.BertPretrainer(encoder, sentence_label=sentence_label(settings))
        optimizer = make_optimizer(
            settings.optimizer, settings.step, schedule.num_train_steps, schedule.num_warmup_steps, settings.adam)
        loss = losses.create_pretraining_loss(sentence_label(settings), get_objective(settings).token_loss)
        build = Build(model, optimizer, loss, settings.training.random_seed,
                      schedule.num_train_steps if schedule.do_train else None)
        for technique in techniques:
            technique.build(build)
    training_run = loop.TrainingRun(
        strategy, model, optimizer, build.loss, settings.training, schedule.num_train_steps,
        step_settings=settings.step, evaluations=loop.Evaluations(schedule.eval_steps), init_checkpoint=checkpoint,
        init_layers=build.init_layers, network=build.network, aside=build.aside)
    if not (schedule.do_train or training_run.step):
        if not checkpoint:
            raise InputError(f"`output_dir`={settings.training.output_dir}: contains no checkpoint to evaluate; "
                             "train first, or set `init_checkpoint`")
        lacking = [name for name in training_run.missing if name.startswith(HEADS)]
        if lacking:
            raise InputError(f"`init_checkpoint`={checkpoint}: cannot be evaluated, since it lacks "
                             f"{', '.join(lacking)}; set `do_train`")
    return training_run, model
