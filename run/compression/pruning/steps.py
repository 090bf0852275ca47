"""What a pruning does between two models: measures what matters in one, and trains the other."""

import dataclasses

from bert_tf.compression.importance import importance
from bert_tf.model_folder import task_metadata
from run.compression.stages import Stage, make_model
from run.finetuning import runs
from run.settings import ModelSettings
from run.training import model_files
from run.training.host_batches import WHOLE


def importance_of(stage, task, num_examples, seed):
    """The Importance of a Stage's heads and neurons over so many training examples, rounded up to whole batches."""
    batch_size = task.settings.training.train_batch_size
    batches = task.training_batches(seed, 0, WHOLE, static_shapes=False).take(-(-num_examples // batch_size))
    return importance(make_model(stage, task, remove_padding=False), task.loss, batches)


def train(stage, origin, strategy, folder, techniques):
    """Trains a Stage's model as the task's settings say, in a folder of its own; goes on where a run there was stopped.

    Args:
      stage: Stage.
      origin: run.compression.folders.Origin.
      strategy: tf.distribute.Strategy.
      folder: of the run.
      techniques: Technique objects to train with.

    Returns:
      The Stage of the trained model, and its scores.
    """
    task = origin.task
    settings = dataclasses.replace(
        task.settings, model=ModelSettings(init_checkpoint=stage.folder),
        training=dataclasses.replace(task.settings.training, output_dir=folder))
    model_files.keep(folder, stage.config, origin.vocab_file)
    task_metadata.keep(folder, task.metadata)
    shared = runs.Shared(strategy, stage.config, task, techniques)
    tuned = runs.one_run(settings, shared)
    runs.write_results(folder, shared, tuned.results)
    scores = {name: value for name, value in tuned.results.items() if name != "global_step"}
    tuned.free()
    return Stage(folder, stage.config), scores
