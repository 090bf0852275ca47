"""Pre-trains BERT on records of data_prep.create_pretraining_data: masked LM and next sentence prediction.

  python -m run.run_pretraining --bert_config_file=bert_config.json --input_file='records/*.tfrecord' \\
      --output_dir=model --do_train --num_train_steps=100000 --num_warmup_steps=10000

A run that was stopped or killed goes on from its newest checkpoint when the same command is given again, to the
same weights. SIGTERM saves one first; the process then ends with status 143.
"""

from absl import flags

from bert_tf.cli import script
from run.pretraining import job
from run.settings import flags as driver_flags

FLAGS = flags.FLAGS


def define_flags():
    """Defines this script's flags; the original's keep their names, defaults and meanings."""
    driver_flags.define_model_flags()
    driver_flags.define_training_flags()
    driver_flags.define_step_flags()
    driver_flags.define_optimizer_flags()
    driver_flags.define_distribution_flags()
    flags.DEFINE_string(
        "input_file", None, "Record files: comma-separated glob patterns or folders. Needed.")
    flags.DEFINE_string(
        "eval_input_file", None, "Record files to evaluate on, as --input_file; unset means --input_file itself.")
    flags.DEFINE_integer(
        "max_seq_length", 128, "Sequence length in tokens, with which the records were made.", lower_bound=4)
    flags.DEFINE_integer(
        "max_predictions_per_seq", 20, "Masked positions in a record, with which the records were made.",
        lower_bound=1)
    flags.DEFINE_enum(
        "masking", "static", ["static", "dynamic"],
        "static: the records hold masks; dynamic: they were made without, by the same flag of create_pretraining_data, "
        "and each epoch draws new ones.")
    flags.DEFINE_string(
        "vocab_file", None, "With --masking=dynamic, needed: the vocabulary with which the records were made.")
    flags.DEFINE_float(
        "masked_lm_prob", 0.15, "With --masking=dynamic: share of a sequence's positions to predict.", lower_bound=0,
        upper_bound=1)
    flags.DEFINE_bool("do_whole_word_mask", False, "With --masking=dynamic: mask all pieces of a word or none.")
    flags.DEFINE_bool("do_train", False, "Whether to train.")
    flags.DEFINE_bool("do_eval", False, "Whether to evaluate, after training if there is any.")
    flags.DEFINE_integer("num_train_steps", 100000, "Step at which training ends.", lower_bound=1)
    flags.DEFINE_integer(
        "num_warmup_steps", 10000, "Steps over which the learning rate rises from 0; with more than "
                                   "--num_train_steps it never reaches its peak.", lower_bound=0)
    flags.DEFINE_integer("max_eval_steps", 100, "Batches to evaluate at most.", lower_bound=1)
    flags.DEFINE_integer(
        "eval_steps", None, "Evaluate also during training, every so many steps, into eval_log.csv and loss.png. Needs "
                            "--do_train and --do_eval.", lower_bound=1)


def main(argv):
    """Checks the flags, then trains and evaluates."""
    del argv
    settings = job.Settings.of_flags(FLAGS.flag_values_dict())
    driver_flags.note_unneeded(FLAGS.flag_values_dict())
    config = driver_flags.read_config(settings.bert_config_file, settings.max_seq_length)
    driver_flags.make_output_dir(settings.output_dir)
    job.run(settings, config)


if __name__ == "__main__":
    script.run(main, define_flags)
