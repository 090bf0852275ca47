"""What fine-tuning scripts share: flags, runs over seeds, evaluation during training, the best weights, results.

A script makes features and says how its model is made, trained and judged; `run` does the rest. TensorFlow is
imported inside functions, so that a script's `--help` is instant.
"""

import atexit
import dataclasses
import filecmp
import os
import shutil
import statistics
import tempfile
from collections.abc import Callable

from absl import flags

from bert_tf.cli import paths
from bert_tf.errors import InputError
from bert_tf.files import new_file
from run.finetuning import task_metadata
from run.settings import flags as driver_flags
from run.training import run_metadata

flags.disclaim_key_flags()

RESULTS_FILE = "eval_results.txt"
VOCAB_FILE = "vocab.txt"
KEPT = ("max_seq_length", "train_batch_size", "group_by_length")  # what a run goes on with, beside seed and data


def define_flags(*, max_seq_length=128, train_batch_size=32):
    """The flags of a fine-tuning script: model, tokenizer, devices, training, and those that are in `Settings`."""
    driver_flags.define_model_flags()
    driver_flags.define_tokenizer_flags(max_seq_length=max_seq_length)
    driver_flags.define_training_flags(train_batch_size=train_batch_size)
    driver_flags.define_step_flags()
    driver_flags.define_distribution_flags()
    flags.DEFINE_bool("do_train", False, "Whether to train.")
    flags.DEFINE_bool("do_eval", False, "Whether to evaluate on the development data.")
    flags.DEFINE_bool("do_predict", False, "Whether to write predictions for the test data.")
    flags.DEFINE_integer("predict_batch_size", 8, "Examples in a prediction step.", lower_bound=1)
    flags.DEFINE_float("num_train_epochs", 3.0, "Times that training goes through the data.", lower_bound=0)
    flags.DEFINE_float(
        "warmup_proportion", 0.1, "Share of the training steps over which the learning rate rises from 0.",
        lower_bound=0, upper_bound=1)
    flags.DEFINE_integer(
        "eval_steps", None, "Evaluate every so many training steps, and keep the weights with the best score in "
                            "OUTPUT_DIR/best: these evaluate and predict. Needs --do_eval.", lower_bound=1)
    flags.DEFINE_integer(
        "early_stopping_evals", None, "Stop training when the score has not risen for so many evaluations. Needs "
                                      "--eval_steps.", lower_bound=1)
    flags.DEFINE_integer(
        "num_runs", 1, "Train so many times, with seeds --random_seed, --random_seed + 1, ..., in OUTPUT_DIR/run_1, "
                       "...; results are means and standard deviations, predictions the best run's.", lower_bound=1)
    flags.DEFINE_bool(
        "group_by_length", True, "Make batches of texts of similar length, padded to the longest of the batch, and do "
                                 "not compute padding: several times faster on short texts. Never on TPU.")


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to train, evaluate and predict: the values of the flags of these names."""

    output_dir: str
    init_checkpoint: str | None
    do_train: bool
    do_eval: bool
    do_predict: bool
    max_seq_length: int
    train_batch_size: int
    eval_batch_size: int
    predict_batch_size: int
    learning_rate: float
    num_train_epochs: float
    warmup_proportion: float
    save_checkpoints_steps: int
    keep_checkpoint_max: int
    iterations_per_loop: int
    random_seed: int
    eval_steps: int | None
    early_stopping_evals: int | None
    num_runs: int
    group_by_length: bool
    accumulate_steps: int
    mixed_precision: str
    jit_compile: bool

    @classmethod
    def of_flags(cls, values):
        """From a dict of flag values; InputError where two of them do not go together."""
        settings = cls(**{field.name: values[field.name] for field in dataclasses.fields(cls)})
        if not (settings.do_train or settings.do_eval or settings.do_predict):
            raise InputError("nothing to do: give --do_train, --do_eval or --do_predict")
        if settings.eval_steps and not settings.do_eval:
            raise InputError(f"--eval_steps={settings.eval_steps}: evaluates during training, give --do_eval too")
        if settings.early_stopping_evals and not settings.eval_steps:
            raise InputError(f"--early_stopping_evals={settings.early_stopping_evals}: say with --eval_steps how often "
                             "to evaluate")
        return settings

    def num_train_steps(self, num_examples):
        """Steps that make up `num_train_epochs`, as in the original; InputError if they are none."""
        steps = int(num_examples / self.train_batch_size * self.num_train_epochs)
        if steps < 1:
            raise InputError(f"--train_batch_size={self.train_batch_size}: {self.num_train_epochs} epochs of "
                             f"{num_examples} examples do not fill one batch")
        return steps


def prepare(values, settings, config):
    """Makes --output_dir, the strategy and the tokenizer; InputError names a flag that does not suit.

    Args:
      values: dict of flag values.
      settings: Settings.
      config: BertConfig.

    Returns:
      tf.distribute.Strategy and BertTokenizer.
    """
    driver_flags.note_unneeded(values)
    driver_flags.make_output_dir(settings.output_dir)
    paths.check_file("vocab_file", values["vocab_file"])
    from run.training import strategies

    strategy = strategies.make_strategy(  # TensorFlow may compute nothing before, as it does for a tokenizer
        "tpu" if values["use_tpu"] else values["distribution_strategy"], values["num_gpus"], values["tpu_name"],
        values["num_cpu_devices"])
    strategies.check_batch_size("train_batch_size", settings.train_batch_size, strategy, settings.accumulate_steps)
    for name in ("eval_batch_size", "predict_batch_size"):
        strategies.check_batch_size(name, getattr(settings, name), strategy)
    tokenizer = driver_flags.read_tokenizer(
        values["vocab_file"], values["do_lower_case"], settings.init_checkpoint, config)
    return strategy, tokenizer


def results_dir(settings, strategy):
    """Where to write results: --output_dir; a temporary folder for a worker that only computes them along."""
    from run.training import strategies

    if strategies.is_chief(strategy):
        return settings.output_dir
    folder = tempfile.mkdtemp(prefix="worker_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def kept_task(settings, kind):
    """The Task of the weights that are used without training: of the run in --output_dir, else of --init_checkpoint.

    None where no Task of that kind is kept with them.
    """
    folder = _run_folders(settings)[0]
    place = folder if driver_flags.holds_run(folder) else settings.init_checkpoint
    kept = task_metadata.read(place) if place else None
    return kept if kept and kept.kind == kind else None


def keep_model_files(settings, strategy, config, vocab_file, task, training_files):
    """Keeps in --output_dir what evaluation, prediction and export need beside the weights.

    These are bert_config.json, vocab.txt and task.json; and run.json, by which a run goes on with the same data.

    Args:
      settings: Settings.
      strategy: tf.distribute.Strategy.
      config: BertConfig.
      vocab_file: value of --vocab_file.
      task: task_file.Task.
      training_files: dict of the flag that names the training data -> list of its files; looked at only to train.

    Raises:
      InputError: the folder holds a run of another model or task, with another vocabulary or other training data.
    """
    from run.training import strategies

    if not strategies.is_chief(strategy):
        return
    for folder in dict.fromkeys((settings.output_dir, *_run_folders(settings))):
        os.makedirs(folder, exist_ok=True)
        driver_flags.keep_config(folder, config)
        task_metadata.keep(folder, task)
        _keep_vocabulary(folder, vocab_file)
    if settings.do_train:
        kept = {name: run_metadata.fingerprint(files) for name, files in training_files.items()}
        kept |= {name: getattr(settings, name) for name in KEPT}
        for number, folder in enumerate(_run_folders(settings)):
            run_metadata.keep(folder, {**kept, "random_seed": settings.random_seed + number})


def _keep_vocabulary(folder, vocab_file):
    kept = os.path.join(folder, VOCAB_FILE)
    if os.path.exists(kept) and filecmp.cmp(vocab_file, kept, shallow=False):
        return
    if driver_flags.holds_run(folder) and os.path.exists(kept):
        raise InputError(f"--vocab_file={vocab_file}: is not the vocabulary of the run in --output_dir, {kept}")
    with open(vocab_file, "rb") as source, new_file(kept, "wb") as file:
        shutil.copyfileobj(source, file)


def batches_of(features, settings, strategy):
    """(seed, first step) -> endless dataset of training batches of `features`, dict of arrays [n, ...]."""
    from run.finetuning import batches

    return lambda seed, first_step: batches.training_batches(
        features, settings.train_batch_size, seed, first_step=first_step,
        static_shapes=not may_group_by_length(settings, strategy))


def may_group_by_length(settings, strategy):
    """Whether batches may be of examples of similar length, and padding left out."""
    from run.training import strategies

    return (settings.group_by_length and not settings.jit_compile
            and strategies.allows_dynamic_shapes(strategy))


@dataclasses.dataclass(frozen=True)
class TaskModel:
    """How a task's model is made, trained and judged.

    Attributes:
      make: (BertEncoder) -> task model; called in the strategy's scope.
      loss: (outputs, features) -> dict with the scalar "loss"; see bert_tf.losses for how it comes in shares.
      score: (outputs for the development data, dict of arrays) -> dict of name -> float.
      metric: name in that dict by which weights and runs are compared, the higher the better.
      per_position: whether the model's outputs have the positions of the sequence on axis 1.
    """

    make: Callable
    loss: Callable
    score: Callable
    metric: str
    per_position: bool = False


@dataclasses.dataclass(frozen=True)
class FineTuned:
    """A model to use.

    Attributes:
      predictor: Predictor, with the weights to use.
      step: of the weights.
      folder: of the run.
      results: dict of name -> float; empty without evaluation.
      eval_outputs: the model's outputs for the development data, dict of arrays; None without evaluation.
    """

    predictor: object
    step: int
    folder: str
    results: dict
    eval_outputs: dict | None


def run(settings, strategy, config, task_model, *, training_data=None, num_train_steps=1, eval_features=None):
    """Trains and evaluates, once for each seed, and writes eval_results.txt.

    Args:
      settings: Settings.
      strategy: tf.distribute.Strategy.
      config: BertConfig.
      task_model: TaskModel.
      training_data: (seed, first step) -> endless dataset of batches of features; None to train not at all.
      num_train_steps: int, the step at which training ends.
      eval_features: features of the development data, dict of arrays; None to evaluate not at all.

    Returns:
      FineTuned: the run with the best metric, the first without evaluation.

    Raises:
      InputError: nothing is trained, and there is no checkpoint.
    """
    best, all_results = None, []
    for number, folder in enumerate(_run_folders(settings)):
        tuned = _one_run(settings, strategy, config, task_model, training_data, num_train_steps, eval_features,
                         folder, settings.random_seed + number)
        all_results.append(tuned.results)
        if best is None or (tuned.results and tuned.results[task_model.metric] > best.results[task_model.metric]):
            best = tuned
    if settings.num_runs > 1 and best.results:
        _write_results(settings.output_dir, strategy, _over_runs(all_results))
        print(f"best of {settings.num_runs} runs by {task_model.metric}: {best.folder}")
    return best


def _one_run(settings, strategy, config, task_model, training_data, num_train_steps, eval_features, folder, seed):
    from bert_tf import models, optimization
    from run.finetuning import prediction

    dynamic = may_group_by_length(settings, strategy)
    with strategy.scope():
        model = task_model.make(models.BertEncoder(
            config, seed=seed, remove_padding=dynamic, dtype=driver_flags.DTYPE_POLICIES[settings.mixed_precision]))
        optimizer = optimization.create_optimizer(
            settings.learning_rate, num_train_steps, int(num_train_steps * settings.warmup_proportion),
            scale_loss=settings.mixed_precision == "float16")
    predictor = prediction.Predictor(
        strategy, model, per_position=task_model.per_position, static_shapes=not dynamic)
    predict_eval = lambda: predictor(eval_features, settings.eval_batch_size, "evaluating")
    training_run = _training_run(settings, strategy, config, model, optimizer, task_model, num_train_steps, folder)
    if training_data:
        training_run.train(
            lambda first_step: training_data(seed, first_step),
            evaluate=(lambda: task_model.score(predict_eval())) if settings.eval_steps else None)
    elif not training_run.step:
        _check_trained(settings, training_run.missing)
    step = training_run.restore_best() or training_run.step
    if eval_features is None:
        return FineTuned(predictor, step, folder, {}, None)
    outputs = predict_eval()
    results = {**task_model.score(outputs), "global_step": step}
    _write_results(folder, strategy, results)
    return FineTuned(predictor, step, folder, results, outputs)


def _check_trained(settings, missing):
    """Raises InputError unless --init_checkpoint has all of a task model; `missing`: the variables it lacks."""
    if not settings.init_checkpoint:
        hint = "give its --num_runs" if os.path.isdir(os.path.join(settings.output_dir, "run_1")) else (
            "train first, or give --init_checkpoint")
        raise InputError(f"--output_dir={settings.output_dir}: holds no checkpoint to evaluate; {hint}")
    if missing:
        raise InputError(f"--init_checkpoint={settings.init_checkpoint}: is not of a model that was trained for this "
                         f"task, it lacks {', '.join(missing)}; give --do_train, or the --output_dir of a run")


def _training_run(settings, strategy, config, model, optimizer, task_model, num_train_steps, folder):
    from run.training import loop, utilisation

    return loop.TrainingRun(
        strategy, model, optimizer, task_model.loss, ("loss",),
        loop.TrainingSettings(
            folder, num_train_steps, settings.train_batch_size, settings.save_checkpoints_steps,
            settings.keep_checkpoint_max, settings.iterations_per_loop, eval_steps=settings.eval_steps,
            best_metric=task_model.metric if settings.eval_steps else None,
            early_stopping_evals=settings.early_stopping_evals),
        settings.init_checkpoint, accumulate_steps=settings.accumulate_steps, jit_compile=settings.jit_compile,
        flops_of=lambda tokens: utilisation.FORWARD_AND_BACKWARD * utilisation.encoder_flops(config, 1, tokens))


def _write_results(folder, strategy, results):
    from run.evaluation.results import write_results
    from run.training import strategies

    if strategies.is_chief(strategy):
        write_results(os.path.join(folder, RESULTS_FILE), results)


def _run_folders(settings):
    if settings.num_runs == 1:
        return [settings.output_dir]
    return [os.path.join(settings.output_dir, f"run_{number}") for number in range(1, settings.num_runs + 1)]


def _over_runs(all_results):
    """The mean of each result over runs, and its standard deviation as NAME_std."""
    results = {}
    for name in all_results[0]:
        values = [each[name] for each in all_results]
        results[name] = statistics.mean(values)
        results[f"{name}_std"] = statistics.stdev(values)
    return results
