"""Pre-trains BERT on records of data_prep.create_pretraining_data: masked LM and next sentence prediction.

  python -m run.run_pretraining --bert_config_file=bert_config.json --input_file='records/*.tfrecord' \\
      --output_dir=model --do_train --num_train_steps=100000 --num_warmup_steps=10000
"""

import os

from absl import flags

from data_prep import command_line
from run.driver import flags as driver_flags

FLAGS = flags.FLAGS

LOSS_NAMES = ("loss", "masked_lm_loss", "next_sentence_loss")


def define_flags():
    """Defines this script's flags; the original's keep their names, defaults and meanings."""
    driver_flags.define_model_flags()
    driver_flags.define_training_flags()
    driver_flags.define_distribution_flags()
    flags.DEFINE_string(
        "input_file", None, "Record files: comma-separated glob patterns. Needed.")
    flags.DEFINE_string(
        "eval_input_file", None, "Record files to evaluate on, as --input_file; unset means --input_file itself.")
    flags.DEFINE_integer(
        "max_seq_length", 128, "Sequence length in tokens, with which the records were made.", lower_bound=4)
    flags.DEFINE_integer(
        "max_predictions_per_seq", 20, "Masked positions in a record, with which the records were made.",
        lower_bound=1)
    flags.DEFINE_bool("do_train", False, "Whether to train.")
    flags.DEFINE_bool("do_eval", False, "Whether to evaluate, after training if there is any.")
    flags.DEFINE_integer("num_train_steps", 100000, "Step at which training ends.", lower_bound=1)
    flags.DEFINE_integer(
        "num_warmup_steps", 10000, "Steps over which the learning rate rises from 0; with more than "
                                   "--num_train_steps it never reaches its peak.", lower_bound=0)
    flags.DEFINE_integer("max_eval_steps", 100, "Batches to evaluate at most.", lower_bound=1)


def main(argv):
    """Checks the flags, then trains and evaluates."""
    del argv
    if not (FLAGS.do_train or FLAGS.do_eval):
        raise ValueError("nothing to do: give --do_train, --do_eval or both")
    driver_flags.note_unneeded({name: FLAGS[name].present for name in driver_flags.UNNEEDED})
    config = driver_flags.read_config(FLAGS.bert_config_file, FLAGS.max_seq_length)
    driver_flags.make_output_dir(FLAGS.output_dir)

    from bert_tf import losses, models, optimization
    from data_prep import records
    from run.driver import distribution, evaluation, inputs, training

    files = command_line.expand_globs("input_file", FLAGS.input_file)
    eval_files = files
    if FLAGS.eval_input_file:
        eval_files = command_line.expand_globs("eval_input_file", FLAGS.eval_input_file)
    features = records.pretraining_features(FLAGS.max_seq_length, FLAGS.max_predictions_per_seq)
    for path in dict.fromkeys(files + eval_files):
        inputs.check_pretraining_records(path, features, config.vocab_size)
    driver_flags.keep_config(FLAGS.output_dir, config)
    strategy = distribution.make_strategy(
        "tpu" if FLAGS.use_tpu else FLAGS.distribution_strategy, FLAGS.num_gpus, FLAGS.tpu_name)
    distribution.check_batch_size("train_batch_size", FLAGS.train_batch_size, strategy)
    distribution.check_batch_size("eval_batch_size", FLAGS.eval_batch_size, strategy)

    with strategy.scope():
        model = models.BertPretrainer(models.BertEncoder(
            config, seed=FLAGS.random_seed, remove_padding=distribution.allows_dynamic_shapes(strategy)))
        optimizer = optimization.create_optimizer(FLAGS.learning_rate, FLAGS.num_train_steps, FLAGS.num_warmup_steps)

    settings = training.TrainingSettings(
        FLAGS.output_dir, FLAGS.num_train_steps, FLAGS.train_batch_size, FLAGS.save_checkpoints_steps,
        FLAGS.keep_checkpoint_max, FLAGS.iterations_per_loop)
    run = training.TrainingRun(strategy, model, optimizer, losses.pretraining_loss, LOSS_NAMES, settings,
                               FLAGS.init_checkpoint)
    if FLAGS.do_train:
        run.train(lambda skip_steps: inputs.pretraining_training_data(
            files, features, FLAGS.train_batch_size, FLAGS.random_seed, skip_steps))
    elif not run.step and not FLAGS.init_checkpoint:
        raise ValueError(f"--output_dir={FLAGS.output_dir}: holds no checkpoint to evaluate; train first, or give "
                         "--init_checkpoint")
    if FLAGS.do_eval:
        data = inputs.pretraining_evaluation_data(
            eval_files, features, FLAGS.eval_batch_size,
            drop_remainder=not distribution.allows_dynamic_shapes(strategy))
        results = evaluation.evaluate_pretraining(
            strategy, model, data, losses.pretraining_loss, FLAGS.max_eval_steps)
        evaluation.write_results(os.path.join(FLAGS.output_dir, "eval_results.txt"),
                                 {**results, "global_step": run.step})


if __name__ == "__main__":
    command_line.run(main, define_flags)
