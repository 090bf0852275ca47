"""Says what each layer of a model knows of words, as linear classifiers on its frozen vectors read it off.

  python -m run.probe_layers --init_checkpoint=FOLDER --train_file=en_ewt-train.conllu --dev_file=en_ewt-dev.conllu \\
      --output_dir=probes

  python -m run.probe_layers --init_checkpoint=FOLDER --train_file=train.txt --dev_file=dev.txt --output_dir=probes

Beside each score stands that of a control task: labels drawn at random for each word, which a probe can only memorise.
"""

from bert_tf.cli import flags, script
from run.probing.settings import ProbeLayersSettings
from run.settings import from_folder


def define_flags():
    """Defines this script's flags."""
    flags.define(ProbeLayersSettings())


def main(argv):
    """Checks the flags, then reads, trains the probes and writes what they came to."""
    del argv
    settings = flags.read(ProbeLayersSettings())
    settings.check_files()
    settings = from_folder.complete(settings, flags.given())
    from run.probing import job

    job.run(settings)


if __name__ == "__main__":
    script.run(main, define_flags)
