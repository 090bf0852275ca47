"""Says what a pre-trained BERT would put for each [MASK] of a text.

  python -m run.fill_mask --bert_config_file=bert_config.json --vocab_file=vocab.txt --init_checkpoint=model \\
      --text='The capital of France is [MASK].'

  python -m run.fill_mask --saved_model=serving/bert/1

Without --text it answers each line of standard input.
"""

import itertools

from absl import flags

from bert_tf.cli import script
from bert_tf.errors import InputError
from run.inference import loading, terminal

FLAGS = flags.FLAGS

MASK = "[MASK]"


def define_flags():
    """Defines this script's flags."""
    loading.define_flags()
    terminal.define_flags()
    flags.DEFINE_multi_string("text", [], "A text with one [MASK] or more; may be given several times.")
    flags.DEFINE_integer("top_k", 5, "Candidates to show for each [MASK].", lower_bound=1)


def main(argv):
    """Checks the flags, loads the model once and answers."""
    del argv
    for text in FLAGS.text:
        check_text(text)
    given = {name: FLAGS[name].value for name in FLAGS if FLAGS[name].present}
    model = terminal.load("masked_lm", given)
    for text in FLAGS.text or terminal.lines():
        print(text)
        try:
            check_text(text)
        except ValueError as error:
            print(f"  {error}")  # the next line may be better
            continue
        answer = model(text=[text])
        for mask in range(answer["num_masks"][0]):
            candidates = zip(answer["pieces"][0, mask], answer["probabilities"][0, mask], strict=True)
            print("  " + "   ".join(f"{piece.decode()} {probability:.3f}"
                                    for piece, probability in itertools.islice(candidates, FLAGS.top_k)))
        if answer["was_cut"][0]:
            print(f"  the text was cut, and perhaps a {MASK} with it: {model.limit} allows fewer pieces")
    terminal.report_latency(model, FLAGS.latency)


def check_text(text):
    """Raises InputError unless a text has a [MASK]."""
    if MASK not in text:
        raise InputError(f"--text={text}: has no {MASK}")


if __name__ == "__main__":
    script.run(main, define_flags)
