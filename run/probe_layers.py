"""Says what each layer of a model knows of words, as linear classifiers on its frozen vectors read it off.

  python -m run.probe_layers --init_checkpoint=FOLDER --train_file=en_ewt-train.conllu --dev_file=en_ewt-dev.conllu \\
      --output_dir=probes

  python -m run.probe_layers --init_checkpoint=FOLDER --train_file=train.txt --dev_file=dev.txt --output_dir=probes

Beside each score stands that of a control task: labels drawn at random for each word, which a probe can only memorise.
"""

from bert_tf.cli import script
from run.inside.settings import ProbeLayersSettings

COMMAND = script.Command(ProbeLayersSettings(), "run.inside.probes")

if __name__ == "__main__":
    COMMAND.run()
