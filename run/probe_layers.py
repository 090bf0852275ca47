"""Probes each layer of a model with linear classifiers of words on its frozen embeddings.

  python -m run.probe_layers --init_checkpoint=FOLDER --train_file=en_ewt-train.conllu \\
      --dev_file=en_ewt-dev.conllu --output_dir=probes

  python -m run.probe_layers --init_checkpoint=FOLDER --train_file=train.txt \\
      --dev_file=dev.txt --output_dir=probes

Each score is reported next to the score of a control task: random labels per word, which a probe
can only memorize.
"""

from bert_tf.cli import script
from run.analysis.settings import ProbeLayersSettings

COMMAND = script.Command(ProbeLayersSettings(), "run.analysis.probes")

if __name__ == "__main__":
    COMMAND.run()
