"""Makes pre-training records of text, masked and perhaps labelled: the original's script, its flags, its records.

    python -m data_prep.create_pretraining_data --input_file='corpus/*.txt' --output_file=train.tfrecord \\
        --vocab_file=vocab.txt

The text has one sentence a line and a blank line after each document. A large text is made into several shards,
on several cores, in memory that --max_shard_mb and --num_workers bound. A run that was stopped or killed resumes
when the same command is given again. A text too large for one machine is made into records on a cluster, by Apache
Beam: --runner.
"""

from bert_tf.cli import script
from data_prep.pretraining import JobSettings

COMMAND = script.Command(JobSettings(), "data_prep.pretraining.job")

if __name__ == "__main__":
    COMMAND.run()
