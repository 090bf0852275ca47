"""Says what a pre-trained BERT would put for each [MASK] of a text.

  python -m run.fill_mask --bert_config_file=bert_config.json --vocab_file=vocab.txt --init_checkpoint=model \\
      --text='The capital of France is [MASK].'

Without --text it answers each line of standard input.
"""

import sys

from absl import flags

from data_prep import command_line
from run.driver import flags as driver_flags

FLAGS = flags.FLAGS

MASK = "[MASK]"


def define_flags():
    """Defines this script's flags."""
    driver_flags.define_model_flags()
    driver_flags.define_tokenizer_flags()
    flags.DEFINE_multi_string("text", [], "A text with one [MASK] or more; may be given several times.")
    flags.DEFINE_integer("top_k", 5, "Candidates to show for each [MASK].", lower_bound=1)


def main(argv):
    """Checks the flags, loads the model once and answers."""
    del argv
    if not FLAGS.init_checkpoint:
        raise ValueError("--init_checkpoint is needed")
    for text in FLAGS.text:
        check_text(text)
    config = driver_flags.read_config(FLAGS.bert_config_file, FLAGS.max_seq_length)
    tokenizer = driver_flags.read_tokenizer(FLAGS.vocab_file, FLAGS.do_lower_case, FLAGS.init_checkpoint, config)

    from bert_tf import models
    from bert_tf.checkpoints import load_pretrained

    model = models.BertPretrainer(config)
    report = load_pretrained(model, FLAGS.init_checkpoint)
    if report.missing:
        raise ValueError(f"--init_checkpoint={FLAGS.init_checkpoint}: is not of a pre-trained model, it lacks "
                         f"{', '.join(report.missing)}")
    fill = make_filler(model, tokenizer, FLAGS.max_seq_length, min(FLAGS.top_k, tokenizer.vocab_size))
    sys.stdin.reconfigure(errors="ignore")  # bytes that are not UTF-8 are dropped, as the tokenizer drops them
    for text in FLAGS.text or (line.rstrip("\n") for line in sys.stdin):
        print(text)
        try:
            answers = fill(text)
        except ValueError as error:
            print(f"  {error}")  # the next line may be better
            continue
        for candidates in answers:
            print("  " + "   ".join(f"{piece} {probability:.3f}" for piece, probability in candidates))


def check_text(text):
    """Raises ValueError unless a text has a [MASK]."""
    if MASK not in text:
        raise ValueError(f"--text={text}: has no {MASK}")


def make_filler(model, tokenizer, max_seq_length, top_k):
    """A function from a text to its answers, traced once for all texts.

    Args:
      model: BertPretrainer.
      tokenizer: BertTokenizer.
      max_seq_length: longest input in pieces, [CLS] and [SEP] included.
      top_k: candidates for each [MASK].

    Returns:
      text -> for each [MASK] in order, `top_k` pairs of a piece (str) and its probability, best first. It raises
      ValueError for a text without [MASK] and for one that is too long.
    """
    import numpy as np
    import tensorflow as tf

    spec = tf.TensorSpec([1, None], tf.int32)

    @tf.function(input_signature=[spec, spec])
    def best(input_ids, positions):
        outputs = model({"input_ids": input_ids, "input_mask": tf.ones_like(input_ids),
                         "segment_ids": tf.zeros_like(input_ids), "masked_lm_positions": positions})
        return tf.math.top_k(tf.nn.softmax(outputs["masked_lm_logits"][0]), top_k)

    def fill(text):
        """text -> `top_k` pairs of piece and probability for each [MASK]; see `make_filler`."""
        check_text(text)
        # The tokenizer, like the original's, takes a literal [MASK] for three words: split there first.
        parts = tokenizer.tokenize(text.split(MASK)).to_list()
        ids = [tokenizer.cls_id, *parts[0]]
        for part in parts[1:]:
            ids += [tokenizer.mask_id, *part]
        ids.append(tokenizer.sep_id)
        if len(ids) > max_seq_length:
            raise ValueError(f"the text has {len(ids)} pieces, --max_seq_length={max_seq_length} allows fewer")
        ids = np.array([ids], np.int32)
        probabilities, pieces = best(ids, np.argwhere(ids == tokenizer.mask_id)[:, 1:].T.astype(np.int32))
        return [[(tokenizer.vocabulary[piece], probability) for piece, probability in zip(*row, strict=True)]
                for row in zip(pieces.numpy(), probabilities.numpy(), strict=True)]

    return fill


if __name__ == "__main__":
    command_line.run(main, define_flags)
