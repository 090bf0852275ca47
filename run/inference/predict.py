"""The job of run.predict: predictions for a file of texts.

Opens any model; without TensorFlow for a LiteRT file.
"""

import contextlib
import csv
import itertools
import sys

from tqdm import tqdm

from bert_tf.errors import InputError
from bert_tf.files import new_file, to_json
from bert_tf.serving.loading import open_export
from bert_tf.tasks.kind import add_article
from run.inference import request_files

NUM_SORTED_BATCHES = 32  # Number of batches of consecutive requests to sort by length together.
STANDARD_OUTPUT = "-"


def run(settings):
    """Reads, predicts, and writes group by group: memory does not grow with the file.

    Args:
      settings: PredictionSettings, resolved.

    Raises:
      InputError: See open_requested_model and request_files.read. Also if the file is empty.
    """
    model = open_requested_model(settings)
    requests = request_files.read(
        settings.requests.input_file, model.inputs, settings.request_options
    )
    # The first request prints the notes about the file, above the progress bar.
    first = next(requests, None)
    if first is None:
        raise InputError("contains no rows", "input_file", settings.requests.input_file)
    requests = itertools.chain([first], requests)
    num_rows = num_truncated = 0
    with (
        open_writer(settings.output_file) as write,
        tqdm(desc="predicting", unit="row", dynamic_ncols=True) as progress,
    ):
        for row in predict_rows(model, requests, settings.requests.batch_size):
            write(row)
            num_rows += 1
            num_truncated += row["was_cut"]
            progress.update()
    if settings.output_file != STANDARD_OUTPUT:
        note = (
            f"; {num_truncated:,} {'was' if num_truncated == 1 else 'were'} too long for the model "
            "and truncated"
            if num_truncated
            else ""
        )
        noun = "rows" if num_rows > 1 else "row"
        print(
            f"{settings.output_file}: predictions of {add_article(model.kind)} for {num_rows:,} "
            f"{noun}{note}"
        )


def predict_rows(model, requests, batch_size):
    """Yields the prediction for each request, in order, as a row of Kind.rows.

    The copied columns of the request come first. If a prediction has the same name, the column is
    named input.NAME.

    Args:
      model: bert_tf.serving.LoadedModel.
      requests: Iterable of request_files.Request.
      batch_size: int. Requests per batch.
    """
    requests = iter(requests)
    while group := list(itertools.islice(requests, NUM_SORTED_BATCHES * batch_size)):
        inputs = {name: [request.inputs[name] for request in group] for name in model.inputs}
        for request, row in zip(group, model.predict(batch_size, **inputs), strict=True):
            copied = {
                f"input.{name}" if name in row else name: value
                for name, value in request.copied.items()
            }
            yield copied | row


def open_requested_model(settings):
    """Opens the model of a job.

    Args:
      settings: Resolved AnyModelSettings.

    Returns:
      bert_tf.serving.LoadedModel.

    Raises:
      InputError: If the kind of the model differs from the settings' `task`, if it was exported
        with fewer candidates than `top_k`, or if it is corrupted; see
        bert_tf.serving.checkpoint.load_servable.
    """
    if settings.exported_model:
        argument, path = settings.exported_model
        top_k = settings.top_k if settings.top_k != type(settings).top_k else None
        return open_export(path, settings.task, top_k, argument)
    settings.check_kind()
    from bert_tf.serving.checkpoint import load_model

    return load_model(**settings.servable_options)


@contextlib.contextmanager
def open_writer(path):
    """Yields a function that writes a row, dict.

    The file is renamed when the context ends without an error.

    A table has the header of the first row. A dict within a row becomes one column per key; a list
    stays JSON. In tab-separated texts, a backslash, tab, or line break is escaped as in JSON:
    \\\\, \\t, \\n, \\r. In comma-separated ones, they are quoted.

    Args:
      path: Path of the file: a table with tabs if it ends in .tsv, or with commas if it ends in
        .csv, otherwise JSON lines; - for standard output.
    """
    is_csv = path.lower().endswith(".csv")
    is_table = is_csv or path.lower().endswith(".tsv")
    header = []

    def write(row):
        """Writes a row, a dict."""
        if not is_table:
            file.write(to_json(path, row, ensure_ascii=False) + "\n")
            return
        cells = {}
        for name, value in row.items():
            if isinstance(value, dict):
                cells |= {f"{name}.{key}": each for key, each in value.items()}
            else:
                cells[name] = value
        if not header:
            header.extend(cells)
            write_fields(header)
        write_fields(
            value if isinstance(value, str) else to_json(path, value, ensure_ascii=False)
            for value in (cells[name] for name in header)
        )

    def write_fields(fields):
        if is_csv:
            csv.writer(file, lineterminator="\n").writerow(fields)
        else:
            file.write("\t".join(map(_escape, fields)) + "\n")

    with contextlib.nullcontext(sys.stdout) if path == STANDARD_OUTPUT else new_file(path) as file:
        yield write


def _escape(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
