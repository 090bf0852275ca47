"""Pre-trains BERT on records of data_prep.create_pretraining_data: masked LM and NSP.

  python -m run.run_pretraining --bert_config_file=bert_config.json \\
      --input_file='records/*.tfrecord' --output_dir=model --do_train \\
      --num_train_steps=100000 --num_warmup_steps=10000

If a run is interrupted, run the same command again. It resumes at the latest checkpoint and ends
with the same weights. On SIGTERM and Ctrl-C, it first saves a checkpoint, then ends with status 143
or 130.
"""

from bert_tf.cli import script
from run.pretraining.settings import PretrainingSettings

COMMAND = script.Command(PretrainingSettings(), "run.pretraining.job")

if __name__ == "__main__":
    COMMAND.run()
