"""Answers questions about a text with a fine-tuned span labeler.

  python -m run.answer --init_checkpoint=OUTPUT_DIR --context_file=article.txt --question='Who wrote it?'

  python -m run.answer --saved_model=serving/squad/1 --context='Mary Shelley wrote it in 1818.'

Without --question each line of standard input is a question.
"""

from absl import flags

from bert_tf.cli import paths, script
from bert_tf.errors import InputError
from run.inference import loading, terminal

FLAGS = flags.FLAGS


def define_flags():
    """Defines this script's flags."""
    loading.define_flags()
    loading.define_question_flags()
    terminal.define_flags()
    flags.DEFINE_multi_string("question", [], "A question; may be given several times.")
    flags.DEFINE_string("context", None, "The text that holds the answers.")
    flags.DEFINE_string("context_file", None, "A UTF-8 file of the text that holds the answers, in place of --context.")
    flags.DEFINE_integer("top_k", 5, "Answers to show for each question.", lower_bound=1)


def main(argv):
    """Checks the flags, loads the model once and answers."""
    del argv
    context = read_context(FLAGS.context, FLAGS.context_file)
    given = {name: FLAGS[name].value for name in FLAGS if FLAGS[name].present}
    model = terminal.load("span_labeler", given)
    for question in FLAGS.question or terminal.lines():
        print(question)
        answer = model(question=[question], context=[context])
        text, start, end = (answer[name][0] for name in ("answer", "start", "end"))
        print(f"  {text.decode()}  [{start}:{end}]" if end else "  no answer")
        shown = [(candidate, score) for candidate, score in zip(answer["answers"][0], answer["scores"][0], strict=True)
                 if candidate]
        for candidate, score in shown[: FLAGS.top_k]:
            print(f"  {score:8.3f}  {candidate.decode()}")
        if answer["was_cut"][0]:
            print(f"  the question or the context is longer than {model.limit} allows, and was cut")
    terminal.report_latency(model, FLAGS.latency)


def read_context(context, context_file):
    """The text of --context or --context_file; InputError unless just one is given."""
    if (context is None) == (context_file is None):
        raise InputError("either --context or --context_file is needed")
    if context is not None:
        return context
    paths.check_file("context_file", context_file)
    with open(context_file, encoding="utf-8", errors="ignore") as file:
        return file.read()


if __name__ == "__main__":
    script.run(main, define_flags)
