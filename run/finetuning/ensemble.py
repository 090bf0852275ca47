"""Ensembles: several finished runs of a task, whose probabilities are averaged (section 4.2 of the paper: SQuAD)."""

import dataclasses

from bert_tf.errors import InputError, rename_argument
from bert_tf.files import read_bytes
from bert_tf.model_folder import read_config
from bert_tf.model_folder.model_files import ModelFiles
from run.finetuning import runs


def check_model(folder, config, vocab_file):
    """Raises InputError if a run has another config or vocabulary than the first run of the ensemble.

    Args:
      folder: Path of the run's directory.
      config: BertConfig of the first run.
      vocab_file: Path of its vocabulary.
    """
    model_files = ModelFiles({"ensemble": folder})
    for name, read, path, expected in (
            ("config", read_config, model_files.config_file, config),
            ("vocabulary", read_bytes, model_files.vocab_file, read_bytes(vocab_file))):
        if path and read(path) != expected:
            raise InputError(f"its {name} differs from the {name} of the first run", "ensemble", folder)


def run(settings, context):
    """Evaluates each run and the ensemble, and writes eval_results.txt.

    Args:
      settings: FineTuningSettings, whose `runs` are the runs of `ensemble`.
      context: runs.RunContext.

    Returns:
      runs.TrainedModel. The first run, with the predictor and the results of the ensemble.
    """
    task, models = context.task, []
    for each in settings.runs:
        with rename_argument(output_dir="ensemble"):
            models.append(runs.run_once(each, context))
        if models[-1].results:
            print(f"{models[-1].folder}: {task.metric} = {models[-1].results[task.metric]}")
    outputs, results = None, {}
    if models[0].eval_outputs is not None:
        outputs = task.average([each.eval_outputs for each in models])
        results = task.score(outputs)
        runs.write_results(settings.training.output_dir, context, results)

    def predict(*arguments):
        return task.average([each.predictor(*arguments) for each in models])

    return dataclasses.replace(models[0], predictor=predict, folder=settings.training.output_dir, results=results,
                               eval_outputs=outputs)
