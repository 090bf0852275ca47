"""Answers questions about a text with a fine-tuned span labeler.

  python -m run.answer --init_checkpoint=OUTPUT_DIR --context_file=article.txt --question='Who wrote it?'

  python -m run.answer --model=serving/squad/model_int8.tflite --context='Mary Shelley wrote it in 1818.'

--model is a LiteRT file, which answers at once, the folder of an export, or a checkpoint.

Without --question each line of standard input is a question.
"""

from bert_tf.cli import flags, script
from run.inference.settings import AnswerSettings


def define_flags():
    """Defines this script's flags."""
    flags.define(AnswerSettings())


def main(argv):
    """Checks the flags, loads the model once and answers."""
    del argv
    settings = flags.read(AnswerSettings())
    context = settings.read_context()
    from run.inference import served_models, terminal

    model = served_models.load("span_labeler", flags.given())
    terminal.answer_questions(model, settings.questions or terminal.lines(), context, settings.top_k)
    if settings.export.latency:
        terminal.report_latency(model)


if __name__ == "__main__":
    script.run(main, define_flags)
