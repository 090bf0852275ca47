"""Says what a pre-trained BERT would put for each [MASK] of a text.

  python -m run.fill_mask --init_checkpoint=uncased_L-12_H-768_A-12 --text='The capital of France is [MASK].'

  python -m run.fill_mask --model=serving/bert/model_int8.tflite

--model is a LiteRT file, which answers at once, the folder of an export, or a checkpoint.

Without --text it answers each line of standard input.
"""

from bert_tf.cli import flags, script
from run.inference.settings import FillMaskSettings


def define_flags():
    """Defines this script's flags."""
    flags.define(FillMaskSettings())


def main(argv):
    """Checks the flags, loads the model once and answers."""
    del argv
    settings = flags.read(FillMaskSettings())
    texts = settings.texts
    from run.inference import served_models, terminal

    model = served_models.load("masked_lm", flags.given())
    terminal.fill_masks(model, texts or terminal.lines(), settings.top_k)
    if settings.export.latency:
        terminal.report_latency(model)


if __name__ == "__main__":
    script.run(main, define_flags)
