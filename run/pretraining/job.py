"""Pre-training from settings to results: records, model, training run, evaluation."""

import dataclasses
import os

from bert_tf.cli import paths
from bert_tf.errors import InputError
from run.settings import flags as driver_flags
from run.training import run_metadata

LOSS_NAMES = ("loss", "masked_lm_loss", "next_sentence_loss")
RESULTS_FILE = "eval_results.txt"
KEPT = ("max_seq_length", "max_predictions_per_seq", "masking", "train_batch_size", "optimizer", "random_seed")
KEPT_OF_DYNAMIC_MASKING = ("masked_lm_prob", "do_whole_word_mask")


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to train and evaluate: the values of the flags of these names."""

    bert_config_file: str
    init_checkpoint: str | None
    input_file: str
    eval_input_file: str | None
    output_dir: str
    max_seq_length: int
    max_predictions_per_seq: int
    masking: str
    vocab_file: str | None
    masked_lm_prob: float
    do_whole_word_mask: bool
    do_train: bool
    do_eval: bool
    train_batch_size: int
    eval_batch_size: int
    learning_rate: float
    num_train_steps: int
    num_warmup_steps: int
    save_checkpoints_steps: int
    keep_checkpoint_max: int
    iterations_per_loop: int
    max_eval_steps: int
    eval_steps: int | None
    random_seed: int
    accumulate_steps: int
    mixed_precision: str
    jit_compile: bool
    optimizer: str
    weight_decay_rate: float
    no_weight_decay: list[str]
    clip_norm: float
    decay_power: float
    distribution_strategy: str
    num_gpus: int | None
    num_cpu_devices: int | None
    use_tpu: bool
    tpu_name: str | None

    @classmethod
    def of_flags(cls, values):
        """From a dict of flag values; InputError where two of them do not go together."""
        settings = cls(**{field.name: values[field.name] for field in dataclasses.fields(cls)})
        if not (settings.do_train or settings.do_eval):
            raise InputError("nothing to do: give --do_train, --do_eval or both")
        if settings.eval_steps and not (settings.do_train and settings.do_eval):
            raise InputError(f"--eval_steps={settings.eval_steps}: evaluates during training, give --do_train and "
                             "--do_eval")
        if settings.masking == "dynamic":
            paths.check_file("vocab_file", settings.vocab_file)
        return settings


def run(settings, config):
    """Trains and evaluates as `settings` say.

    Args:
      settings: Settings, with an output_dir that is there.
      config: BertConfig of the model.

    Raises:
      InputError: settings that do not suit the devices, the records or the run that output_dir holds; a loss that
        is not finite; a record that cannot be used, by file and byte.
    """
    from bert_tf import losses
    from run.evaluation.results import write_results
    from run.pretraining import evaluation, inputs
    from run.training import strategies

    files = paths.expand_globs("input_file", settings.input_file, folders=True)
    eval_files = files
    if settings.eval_input_file:
        eval_files = paths.expand_globs("eval_input_file", settings.eval_input_file, folders=True)
    all_files = list(dict.fromkeys(files + eval_files))
    strategy = make_strategy(settings)  # TensorFlow may compute nothing before
    features, transform = record_features(settings, config)
    limits = inputs.pretraining_limits(config, settings.max_seq_length)
    inputs.check_pretraining_records(all_files, features, limits)
    if settings.do_train and settings.num_warmup_steps >= settings.num_train_steps:
        print(f"note: --num_warmup_steps={settings.num_warmup_steps}: the learning rate never reaches its peak within "
              f"--num_train_steps={settings.num_train_steps}")
    if strategies.is_chief(strategy):
        keep_what_must_stay(settings, config, files)
    training_run, model = start(settings, strategy, config)
    if not settings.do_train and not training_run.step and not settings.init_checkpoint:
        raise InputError(f"--output_dir={settings.output_dir}: holds no checkpoint to evaluate; train first, or give "
                         "--init_checkpoint")
    evaluator = evaluation.PretrainingEvaluator(strategy, model, losses.pretraining_loss)
    eval_data = inputs.pretraining_evaluation_data(
        eval_files, features, settings.eval_batch_size, drop_remainder=not strategies.allows_dynamic_shapes(strategy),
        limits=limits, transform=transform)

    def evaluate():
        return evaluator(eval_data, settings.max_eval_steps)

    results = None
    with inputs.bad_records_named(all_files, features, limits):
        if settings.do_train:
            results = training_run.train(
                lambda skip_steps: inputs.pretraining_training_data(
                    files, features, settings.train_batch_size, settings.random_seed, skip_steps, limits=limits,
                    transform=transform),
                evaluate if settings.eval_steps else None)
        if settings.do_eval:
            results = results or evaluate()
    if settings.do_eval and strategies.is_chief(strategy):
        write_results(os.path.join(settings.output_dir, RESULTS_FILE),
                                 {**results, "global_step": training_run.step})


def record_features(settings, config):
    """The features of the records, and what makes those of the model of them (see inputs), None for nothing."""
    from data_prep import records
    from data_prep.pretraining import masking, sentence_pairs

    if settings.masking == "static":
        return records.pretraining_features(settings.max_seq_length, settings.max_predictions_per_seq), None
    from run.pretraining import dynamic_masking

    tokenizer = driver_flags.read_tokenizer(settings.vocab_file, True, None, config)  # casing plays no part here
    how = sentence_pairs.InstanceSettings(
        max_seq_length=settings.max_seq_length, max_predictions_per_seq=settings.max_predictions_per_seq,
        masked_lm_prob=settings.masked_lm_prob, do_whole_word_mask=settings.do_whole_word_mask, masking="dynamic")
    return how.features, dynamic_masking.make_masker(
        how, masking.Vocabulary.of_tokenizer(tokenizer), settings.random_seed)


def make_strategy(settings):
    """The tf.distribute.Strategy of the settings, with the batch sizes checked against its replicas."""
    from run.training import strategies

    strategy = strategies.make_strategy(
        "tpu" if settings.use_tpu else settings.distribution_strategy, settings.num_gpus, settings.tpu_name,
        settings.num_cpu_devices)
    if settings.do_train:
        strategies.check_batch_size(
            "train_batch_size", settings.train_batch_size, strategy, settings.accumulate_steps)
    if settings.do_eval:
        strategies.check_batch_size("eval_batch_size", settings.eval_batch_size, strategy)
    return strategy


def keep_what_must_stay(settings, config, files):
    """Keeps in output_dir what a run goes on with; InputError if it holds a run of another model or other data."""
    driver_flags.keep_config(settings.output_dir, config)
    if not settings.do_train:
        return
    kept = {"input_file": run_metadata.fingerprint(files), **{name: getattr(settings, name) for name in KEPT}}
    if settings.masking == "dynamic":
        kept["vocab_file"] = run_metadata.fingerprint([settings.vocab_file])
        kept |= {name: getattr(settings, name) for name in KEPT_OF_DYNAMIC_MASKING}
    run_metadata.keep(settings.output_dir, kept)


def start(settings, strategy, config):
    """Makes the model and takes up its run; returns TrainingRun and BertPretrainer."""
    from bert_tf import losses, models, optimization
    from run.training import loop, strategies, utilisation

    with strategy.scope():
        model = models.BertPretrainer(models.BertEncoder(
            config, seed=settings.random_seed, dtype=driver_flags.DTYPE_POLICIES[settings.mixed_precision],
            remove_padding=strategies.allows_dynamic_shapes(strategy) and not settings.jit_compile))
        optimizer = optimization.create_optimizer(
            settings.learning_rate, settings.num_train_steps, settings.num_warmup_steps, settings.optimizer,
            decay_power=settings.decay_power, weight_decay=settings.weight_decay_rate, clip_norm=settings.clip_norm,
            no_decay=settings.no_weight_decay, scale_loss=settings.mixed_precision == "float16")
    training_settings = loop.TrainingSettings(
        settings.output_dir, settings.num_train_steps, settings.train_batch_size, settings.save_checkpoints_steps,
        settings.keep_checkpoint_max, settings.iterations_per_loop, settings.eval_steps)
    training_run = loop.TrainingRun(
        strategy, model, optimizer, losses.pretraining_loss, LOSS_NAMES, training_settings, settings.init_checkpoint,
        accumulate_steps=settings.accumulate_steps, jit_compile=settings.jit_compile,
        flops_of=lambda tokens: utilisation.pretraining_flops(config, tokens, settings.max_predictions_per_seq))
    return training_run, model
