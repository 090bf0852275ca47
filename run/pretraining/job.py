"""The pre-training job, from settings to results: records, model, training, evaluation."""

import contextlib
import dataclasses
import os

import tensorflow as tf

from bert_tf import losses, models, notes
from bert_tf.checkpoints import ModelDirectory
from bert_tf.cli.run_state import RunState, fingerprint, snapshot
from bert_tf.errors import InputError
from bert_tf.fast import FastEncoder
from run.pretraining.data import PretrainingData
from run.pretraining.evaluation import PretrainingEvaluator
from run.pretraining.phases import get_phases
from run.training import model_files, strategies
from run.training.evaluations import NO_EVALUATIONS, EvaluationPlan
from run.training.loop import lock_run, open_run
from run.training.padding import Padding
from run.training.results import RESULTS_FILE, write_results

HEADS = "cls/"  # Prefix of the names of the variables that an evaluation requires.


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings, techniques=()):
    """Trains and evaluates a model.

    Args:
      settings: PretrainingSettings, resolved.
      techniques: Sequence of run.techniques.base.Technique.

    Raises:
      InputError: If settings do not match the devices, the records, or the run in output_dir; if a
        loss is not finite; or if a record is invalid.
    """
    folder = settings.training.output_dir
    config = settings.model.config
    strategy = create_strategy(settings)  # Must precede all TensorFlow computation.
    phases = [
        dataclasses.replace(phase, data=PretrainingData(phase.settings, config))
        for phase in get_phases(settings)
    ]
    for note in settings.notes():
        notes.tell(note)
    strategies.warn_about_slow_precision(
        settings.step_settings.mixed_precision, strategies.device_type(strategy)
    )
    model_files.check_run_files(folder, config, settings.tokenizer)
    if settings.do_train:
        model_files.check_directory(folder, config, settings.tokenizer)
        state = _make_state(settings, phases)
    with contextlib.ExitStack() as stack:
        stack.enter_context(lock_run(folder, strategy, settings.do_train))
        for phase in phases:
            stack.enter_context(phase.data.name_bad_file())
        training = start(settings, strategy, techniques)
        evaluate = _make_evaluation(training, settings, phases)
        results = None
        if settings.do_train:
            if training.writes:
                state.begin()
                model_files.save_run_files(folder, config, settings.tokenizer)
            plan = NO_EVALUATIONS
            if settings.eval_steps:
                plan = EvaluationPlan(evaluate, settings.eval_steps)
            results = training.train(phases, plan, settings.profiled_steps)
            training.finish()
        if settings.do_eval:
            results = results or evaluate()
            if training.writes:
                write_results(
                    os.path.join(folder, RESULTS_FILE), {**results, "global_step": training.step}
                )


def _make_evaluation(run, settings, phases):
    """Returns a function () -> dict of name to float, which evaluates the model of a Run.

    `phases`: List of Phase with PretrainingData.
    """
    objective = settings.objective_spec
    evaluator = PretrainingEvaluator(
        run.strategy, run.model, objective.sentence_label, objective.token_loss
    )
    drop_remainder = strategies.choose_padding(run.strategy) is Padding.STATIC

    def evaluate():
        """Evaluates on records of the last step's phase."""
        data = [phase.data for phase in phases if phase.first_step < max(1, run.step)][-1]
        return evaluator(
            lambda share: data.evaluation_batches(share, drop_remainder=drop_remainder),
            settings.max_eval_steps,
        )

    return evaluate


def create_strategy(settings):
    """Creates the strategy of PretrainingSettings, and checks batch sizes against its replicas.

    Checks only the batch sizes in use.
    """
    strategy = strategies.make_strategy(settings.devices, settings.step_settings.mixed_precision)
    if settings.do_train:
        for phase in get_phases(settings):
            strategies.check_batch_size(
                "train_batch_size",
                phase.batch_size,
                strategy,
                settings.step_settings.accumulate_steps,
            )
    if settings.do_eval:
        strategies.check_batch_size("eval_batch_size", settings.training.eval_batch_size, strategy)
    return strategy


def start(settings, strategy, techniques=()):
    """Creates the model and opens its run. See `run` for the arguments.

    Raises:
      InputError: If there is nothing to train, and no trained model to evaluate.
    """
    model_path = settings.model.init_checkpoint
    config = settings.model.config
    objective = settings.objective_spec

    def make_model():
        fast = choose_pretraining_fast(
            settings, strategy, config, recompute=settings.step_settings.recompute_activations
        )
        encoder = FastEncoder(
            config,
            fast,
            seed=settings.training.random_seed,
            dtype=settings.step_settings.dtype_policy,
        )
        return models.BertPretrainer(encoder, sentence_label=objective.sentence_label)

    loss = losses.create_pretraining_loss(objective.sentence_label, objective.token_loss)
    run = open_run(
        settings,
        strategy,
        make_model,
        loss,
        techniques,
        init_checkpoint=model_path,
        num_steps=settings.num_train_steps if settings.do_train else None,
        num_warmup_steps=settings.num_warmup_steps,
    )
    if not run.step and not model_path and not settings.do_train:
        raise InputError(
            "contains no checkpoint to evaluate; train first, or set `init_checkpoint`",
            "output_dir",
            run.folder,
        )
    if lacking := [name for name in run.missing if name.startswith(HEADS)]:
        if not settings.do_train:
            raise InputError(
                f"cannot be evaluated, since it lacks {', '.join(lacking)}; set `do_train`",
                "init_checkpoint",
                model_path,
            )
        heads = dict.fromkeys(name.removeprefix(HEADS).partition("/")[0] for name in lacking)
        notes.tell(
            f"{model_path} lacks heads of pre-training ({', '.join(heads)}), which start with "
            "random weights"
        )
    return run


def choose_pretraining_fast(settings, strategy, config, **options):
    """Returns the Fast for the encoder of PretrainingSettings, or for its teacher.

    `options`: Other fields of Fast.
    """
    step_settings = settings.step_settings
    return strategies.choose_fast(
        strategy,
        config,
        strategies.choose_padding(strategy, step_settings.jit_compile),
        jit_compile=step_settings.jit_compile,
        in_16_bits=step_settings.is_16_bit,
        **options,
    )


def _make_state(settings, phases):
    """Creates the RunState of a run, whose input are the records of all phases."""
    inputs = {"input_file": fingerprint([path for phase in phases for path in phase.data.files])}
    if teacher := settings.values().get("teacher"):
        inputs["teacher"] = fingerprint(ModelDirectory.open(teacher).weight_files)
    return RunState(settings.training.output_dir, snapshot(settings), inputs)
