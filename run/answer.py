"""Answers questions about a text with a fine-tuned span labeler.

  python -m run.answer --init_checkpoint=OUTPUT_DIR --context_file=article.txt \\
      --question='Who wrote it?'

  python -m run.answer --model=serving/squad/model_int8.tflite \\
      --context='Mary Shelley wrote it in 1818.'

--model is a LiteRT file, which starts immediately, the directory of an export, or a checkpoint.

Without --question, each line of standard input is a question.
"""

from bert_tf.cli import script
from run.inference.settings import AnswerSettings

COMMAND = script.Command(AnswerSettings(), "run.inference.terminal")

if __name__ == "__main__":
    COMMAND.run()
