"""Pre-training from settings to results: records, model, training run, evaluation."""

import dataclasses
import os

from bert_tf import losses, models
from bert_tf.cli import paths
from bert_tf.errors import InputError
from data_prep import records
from data_prep.pretraining import masking, sentence_pairs
from run.evaluation.results import write_results
from run.pretraining import dynamic_masking, evaluation, inputs, record_checks
from run.settings.model import read_tokenizer
from run.training import loop, model_files, run_metadata, strategies, utilisation
from run.training.optimizer import make_optimizer

LOSS_NAMES = ("loss", "masked_lm_loss", "next_sentence_loss")
RESULTS_FILE = "eval_results.txt"
HEADS = "cls/"  # names of the variables that are scored begin so
KEPT = ("max_seq_length", "max_predictions_per_seq", "masking")  # of the records, with which a run is resumed
KEPT_OF_DYNAMIC_MASKING = ("masked_lm_prob", "do_whole_word_mask")


@dataclasses.dataclass(frozen=True)
class RecordFiles:
    """Record files and what they hold.

    Attributes:
      training, evaluation: paths.
      features: tuple of data_prep.records.Feature.
      limits: of inputs.pretraining_limits.
      transform: what makes the model's features of the records', None for nothing; see run.pretraining.inputs.
    """

    training: list
    evaluation: list
    features: tuple
    limits: dict
    transform: object

    @property
    def all(self):
        """All paths, each once."""
        return list(dict.fromkeys(self.training + self.evaluation))


def run(settings, config):
    """Trains and evaluates as `settings` say.

    Args:
      settings: PretrainingSettings.
      config: BertConfig of the model.

    Raises:
      InputError: settings that do not suit the devices, the records or the run that output_dir holds; a loss that
        is not finite; a record that cannot be used, by file and byte.
    """
    schedule = settings.schedule
    training_files = paths.expand_globs("input_file", settings.records.input_file, folders=True)
    eval_files = training_files
    if settings.records.eval_input_file:
        eval_files = paths.expand_globs("eval_input_file", settings.records.eval_input_file, folders=True)
    strategy = make_strategy(settings)  # TensorFlow may compute nothing before
    files = describe_records(settings, config, training_files, eval_files)
    record_checks.check_pretraining_records(files.all, files.features, files.limits)
    for note in (*settings.devices.notes(), *warm_up_notes(schedule)):
        print(note)
    if strategies.is_chief(strategy):
        keep_what_must_stay(settings, config, training_files)
    training_run, model = start(settings, strategy, config)
    check_there_is_a_model(settings, training_run)
    evaluator = evaluation.PretrainingEvaluator(strategy, model, losses.pretraining_loss)
    eval_data = inputs.pretraining_evaluation_data(
        files.evaluation, files.features, settings.training.eval_batch_size,
        drop_remainder=not strategies.allows_dynamic_shapes(strategy), limits=files.limits, transform=files.transform)

    def evaluate():
        return evaluator(eval_data, schedule.max_eval_steps)

    results = None
    with record_checks.bad_records_named(files.all, files.features, files.limits):
        if schedule.do_train:
            results = training_run.train(
                lambda skip_steps: inputs.pretraining_training_data(
                    files.training, files.features, settings.training.train_batch_size, settings.training.random_seed,
                    skip_steps, limits=files.limits, transform=files.transform),
                evaluate if schedule.eval_steps else None)
        if schedule.do_eval:
            results = results or evaluate()
    if schedule.do_eval and strategies.is_chief(strategy):
        write_results(os.path.join(settings.training.output_dir, RESULTS_FILE),
                      {**results, "global_step": training_run.step})


def make_strategy(settings):
    """The tf.distribute.Strategy of PretrainingSettings, with the batch sizes in use checked against its replicas."""
    strategy = strategies.make_strategy(settings.devices)
    if settings.schedule.do_train:
        strategies.check_batch_size("train_batch_size", settings.training.train_batch_size, strategy,
                                    settings.step.accumulate_steps)
    if settings.schedule.do_eval:
        strategies.check_batch_size("eval_batch_size", settings.training.eval_batch_size, strategy)
    return strategy


def describe_records(settings, config, training_files, eval_files):
    """The RecordFiles of PretrainingSettings and a BertConfig."""
    of_records = settings.records
    limits = inputs.pretraining_limits(config, of_records.max_seq_length)
    if of_records.masking == "static":
        features = records.pretraining_features(of_records.max_seq_length, of_records.max_predictions_per_seq)
        return RecordFiles(training_files, eval_files, features, limits, None)
    tokenizer = read_tokenizer(of_records.vocab_file, True, None, config)  # casing plays no part here
    how = sentence_pairs.InstanceSettings(
        max_seq_length=of_records.max_seq_length, max_predictions_per_seq=of_records.max_predictions_per_seq,
        masked_lm_prob=of_records.masked_lm_prob, do_whole_word_mask=of_records.do_whole_word_mask, masking="dynamic")
    mask = dynamic_masking.make_masker(
        how, masking.Vocabulary.of_tokenizer(tokenizer), settings.training.random_seed)
    return RecordFiles(training_files, eval_files, how.features, limits, mask)


def warm_up_notes(schedule):
    """Yields what a user should know of a warm-up that is longer than the training."""
    if schedule.do_train and schedule.num_warmup_steps >= schedule.num_train_steps:
        yield (f"note: --num_warmup_steps={schedule.num_warmup_steps}: the learning rate never reaches its peak within "
               f"--num_train_steps={schedule.num_train_steps}")


def keep_what_must_stay(settings, config, training_files):
    """Keeps in output_dir what a run is resumed with; InputError if it holds a run of another model or other data."""
    output_dir = settings.training.output_dir
    kept = {}
    if settings.schedule.do_train:
        kept = {"input_file": run_metadata.fingerprint(training_files),
                **{name: getattr(settings.records, name) for name in KEPT},
                "train_batch_size": settings.training.train_batch_size, "optimizer": settings.optimizer.optimizer,
                "random_seed": settings.training.random_seed}
        if settings.records.masking == "dynamic":
            kept["vocab_file"] = run_metadata.fingerprint([settings.records.vocab_file])
            kept |= {name: getattr(settings.records, name) for name in KEPT_OF_DYNAMIC_MASKING}
    model_files.check_config(output_dir, config)
    run_metadata.check(output_dir, kept)
    os.makedirs(output_dir, exist_ok=True)
    model_files.keep_config(output_dir, config)
    if kept:
        run_metadata.keep(output_dir, kept)


def start(settings, strategy, config):
    """Makes the model and opens its run; returns TrainingRun and BertPretrainer."""
    schedule = settings.schedule
    with strategy.scope():
        model = models.BertPretrainer(models.BertEncoder(
            config, seed=settings.training.random_seed, dtype=settings.step.dtype_policy,
            remove_padding=strategies.allows_dynamic_shapes(strategy) and not settings.step.jit_compile))
        optimizer = make_optimizer(
            settings.optimizer, settings.step, schedule.num_train_steps, schedule.num_warmup_steps)
    training_run = loop.TrainingRun(
        strategy, model, optimizer, losses.pretraining_loss, LOSS_NAMES, settings.training, schedule.num_train_steps,
        step_settings=settings.step, evaluations=loop.Evaluations(schedule.eval_steps),
        init_checkpoint=settings.model.init_checkpoint, flops_of=lambda tokens: utilisation.pretraining_flops(
            config, tokens, settings.records.max_predictions_per_seq))
    return training_run, model


def check_there_is_a_model(settings, training_run):
    """Raises InputError where there is nothing to train and no trained model to evaluate."""
    if settings.schedule.do_train or training_run.step:
        return
    checkpoint = settings.model.init_checkpoint
    if not checkpoint:
        raise InputError(f"`output_dir`={settings.training.output_dir}: holds no checkpoint to evaluate; train first, "
                         "or give `init_checkpoint`")
    lacking = [name for name in training_run.missing if name.startswith(HEADS)]
    if lacking:
        raise InputError(f"`init_checkpoint`={checkpoint}: is not of a pre-trained model that can be evaluated, it "
                         f"lacks {', '.join(lacking)}; give `do_train`")
