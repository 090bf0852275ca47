"""The job of run.attention_report: a report of a model's attention to given texts."""

import os

from bert_tf import files
from bert_tf.errors import InputError
from run.analysis import numbers, page, requests
from run.analysis.observing import Observer

MAX_BYTES = 1 << 28  # Maximum size of a page. Browsers open larger ones slowly or not at all.


def run(settings):
    """Observes the texts and writes the file.

    Args:
      settings: AttentionReportSettings, resolved.

    Raises:
      InputError: See Observer and run.analysis.requests. Also if the page would be too large.
    """
    observer = Observer(settings)
    if settings.texts.wrong_examples:
        questions, num_rows = requests.find_wrong_predictions(settings, observer.metadata, observer.predict)
        print(f"selected {len(questions)} wrong predictions from {num_rows:,} examples")
    else:
        questions = requests.read_questions(settings.texts, observer.kind)
    observations = _observe(observer, questions, settings.format == "html")
    write(settings.output_file, settings.format, settings.model.init_checkpoint, observer, observations)
    print(f"{settings.output_file}: {len(observations)} text{'s' * (len(observations) > 1)}, {len(observer.heads)} "
          f"heads, {files.at(settings.output_file).size():,} bytes")


def _observe(observer, questions, is_page):
    """Returns the Observations of Questions as a list; raises InputError if their page would be too large."""
    observations = []
    for request in questions:
        observations += observer(request)
        size = page.estimate_size(len(observer.heads), [len(each.pieces) for each in observations])
        if is_page and size > MAX_BYTES:
            raise InputError(f"a page of {len(observations)} texts would exceed {MAX_BYTES >> 20} MB; choose fewer "
                             f"texts, or a smaller `max_seq_length` than {observer.metadata.max_seq_length}")
    return observations


def write(path, file_format, checkpoint, observer, observations):
    """Writes Observations as html, npz, or json."""
    if file_format == "html":
        page.write(path, os.path.basename(os.path.normpath(checkpoint)), observer.heads, observations)
    else:
        {"npz": numbers.write_npz, "json": numbers.write_json}[file_format](path, observer.heads, observations)
