"""Creates pre-training records from text, with the flags and format of the original BERT script.

    python -m data_prep.create_pretraining_data --input_file='corpus/*.txt' \\
        --output_file=train.tfrecord --vocab_file=vocab.txt

The text has one sentence per line and a blank line after each document. A large text is split into
several shards, created in parallel on several cores; --max_shard_mb and --num_workers bound the
memory. To resume an interrupted run, run the same command again. For a text that is too large for
one machine, --runner runs the job on a cluster with Apache Beam.
"""

from bert_tf.cli import script
from data_prep.pretraining import JobSettings

COMMAND = script.Command(JobSettings(), "data_prep.pretraining.job")

if __name__ == "__main__":
    COMMAND.run()
