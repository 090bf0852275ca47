"""Pre-trains BERT on records of data_prep.create_pretraining_data: masked LM and next sentence prediction.

  python -m run.run_pretraining --bert_config_file=bert_config.json --input_file='records/*.tfrecord' \\
      --output_dir=model --do_train --num_train_steps=100000 --num_warmup_steps=10000

A run that was stopped or killed resumes at its newest checkpoint when the same command is given again, and ends with
the same weights. SIGTERM saves one first; the process then ends with status 143.
"""

from bert_tf.cli import flags, script
from run.pretraining.recipes import RECIPES
from run.pretraining.settings import PretrainingSettings
from run.settings import from_folder


def define_flags():
    """Defines this script's flags; the original's keep their names, defaults and meanings."""
    flags.define(PretrainingSettings())


def main(argv):
    """Checks the flags, then trains and evaluates."""
    del argv
    if recipe := flags.given().get("recipe"):
        print(flags.use_recipe(recipe, RECIPES[recipe]))
    settings = flags.read(PretrainingSettings())
    masks = settings.records.masking == "dynamic"  # for which alone a vocabulary is needed
    settings = from_folder.complete(settings, flags.given(), tokenizer="records" if masks else None)
    config = settings.read_config()
    from run.pretraining import job

    job.run(settings, config)


if __name__ == "__main__":
    script.run(main, define_flags)
