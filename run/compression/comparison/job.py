"""The comparison from settings to a table and a picture."""

import tempfile

import tensorflow as tf

from run.compression.comparison import measuring, report


@tf.autograph.experimental.do_not_convert  # nothing in it needs to be
def run(settings):
    """Measures all models of resolved ComparisonSettings, and writes the report; see `measure`."""
    with tempfile.TemporaryDirectory() as folder:
        measured, metric = measuring.measure(settings, folder)
    report.write(settings.output_dir, measured, metric)
