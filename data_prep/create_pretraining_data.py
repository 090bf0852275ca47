"""Makes pre-training records of text, masked and perhaps labelled: the original's script, its flags, its records.

    python -m data_prep.create_pretraining_data --input_file='corpus/*.txt' --output_file=train.tfrecord \\
        --vocab_file=vocab.txt

The text has one sentence a line and a blank line after each document. A large text is made into several shards,
on several cores, in memory that --max_shard_mb and --num_workers bound. A run that was stopped or killed resumes
when the same command is given again. A text too large for one machine is made into records on a cluster, by Apache
Beam: --runner.
"""

from bert_tf.cli import flags, script
from data_prep.pretraining import JobSettings, job
from data_prep.pretraining.recipes import RECIPES


def define_flags():
    """Defines this script's flags."""
    flags.define(JobSettings())


def main(argv):
    """Makes the records."""
    del argv
    if recipe := flags.given().get("recipe"):
        print(flags.use_recipe(recipe, RECIPES[recipe]))
    job.run(flags.read(JobSettings()), announce=lambda text: print(script.with_flags(str(text))))


if __name__ == "__main__":
    script.run(main, define_flags)
