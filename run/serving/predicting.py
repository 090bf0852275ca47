"""The job of run.predict: predictions for a file of texts. Opens any model; without TensorFlow for a LiteRT file."""

import itertools

from tqdm import tqdm

from bert_tf.errors import InputError
from bert_tf.serving.loading import open_export
from bert_tf.tasks.base import add_article
from run.serving.formats import prediction_files, request_files

WINDOW_BATCHES = 32  # Number of batches of consecutive requests to sort by length together.


def run(settings):
    """Reads, predicts, and writes window by window: memory does not grow with the file.

    Args:
      settings: PredictionSettings, resolved.

    Raises:
      InputError: See open_model and request_files.read. Also if the file is empty.
    """
    model = open_model(settings)
    requests = request_files.read(settings.input_file, model.inputs, settings.columns)
    num_rows = num_truncated = 0
    with (prediction_files.open_writer(settings.output_file) as write,
          tqdm(desc="predicting", unit="row", dynamic_ncols=True) as progress):
        for row in predict_rows(model, requests, settings.batch_size):
            write(row)
            num_rows += 1
            num_truncated += row["was_cut"]
            progress.update()
        if not num_rows:
            raise InputError(f"`input_file`={settings.input_file}: contains no rows")
    if settings.output_file != prediction_files.STANDARD_OUTPUT:
        note = f"; {num_truncated:,} were too long for the model and were truncated" if num_truncated else ""
        print(f"{settings.output_file}: predictions of {add_article(model.kind)} for {num_rows:,} "
              f"row{'s' * (num_rows > 1)}{note}")


def predict_rows(model, requests, batch_size):
    """Yields the prediction for each request, in order, as a row of Kind.rows.

    Args:
      model: bert_tf.serving.LoadedModel.
      requests: Iterable of dicts of text.
      batch_size: int. Requests per batch.
    """
    requests = iter(requests)
    while window := list(itertools.islice(requests, WINDOW_BATCHES * batch_size)):
        yield from model.predict(batch_size, **{name: [each[name] for each in window] for name in model.inputs})


def open_model(settings):
    """Opens the model of a job.

    Args:
      settings: Resolved AnyModelSettings.

    Returns:
      bert_tf.serving.LoadedModel.

    Raises:
      InputError: If the kind of the model differs from the settings' `task`, if it was exported with fewer candidates
        than `top_k`, or if it is corrupted; see bert_tf.serving.checkpoint.load_servable.
    """
    if settings.exported_model:
        argument, path = settings.exported_model
        top_k = settings.top_k if settings.top_k != type(settings).top_k else None
        return open_export(path, settings.task, top_k, argument)
    settings.check_kind()
    from bert_tf.serving.checkpoint import load_model

    return load_model(**settings.checkpoint_to_serve)
