"""Writes a trained model as a file that answers raw text: a SavedModel for TensorFlow Serving, or a LiteRT model.

  python -m run.export_saved_model --init_checkpoint=OUTPUT_DIR --export_dir=serving/reviews

A folder that a fine-tuning script wrote says in task.json what the model does. Of any other checkpoint --task says it:

  python -m run.export_saved_model --task=masked_lm --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt \\
      --export_dir=serving/bert
"""

import os

from absl import flags

from bert_tf.cli import paths, script
from bert_tf.errors import InputError
from bert_tf.files import new_file
from run.inference import loading

FLAGS = flags.FLAGS

WEIGHTS = {"saved_model": ("float32", "bfloat16", "int8"), "tflite": ("float32", "float16", "int8")}


def define_flags():
    """Defines this script's flags."""
    loading.define_flags()
    loading.define_question_flags()
    flags.DEFINE_string(
        "export_dir", None, "Folder of the served model; the SavedModel becomes export_dir/VERSION, a LiteRT model "
                            "export_dir/model_WEIGHTS.tflite. Needed.")
    flags.DEFINE_enum(
        "task", None, loading.KINDS, "What the model does; unset means what task.json beside the checkpoint says. "
                                       "Any checkpoint can be an encoder, and a pre-trained one a masked_lm.")
    flags.DEFINE_integer(
        "version", None, "Version number; unset means one more than the highest in --export_dir.", lower_bound=1)
    flags.DEFINE_string(
        "labels_file", None, "Label names, one a line, in the order of their ids; unset means those of task.json. A "
                             "classifier without labels gives a number.")
    flags.DEFINE_bool("pairs", False, "Whether an example of a classifier or encoder is two texts: inputs text_a and "
                                      "text_b in place of text.")
    flags.DEFINE_bool("multi_label", False, "Whether a text may have several of a classifier's labels.")
    flags.DEFINE_integer("top_k", 5, "Candidates for each [MASK], or answers to a question.", lower_bound=1)
    flags.DEFINE_bool("static_length", False, "Pad every input to --max_seq_length, as TPUs and XLA need, in place of "
                                              "to the longest of a request.")
    flags.DEFINE_enum("format", "saved_model", ["saved_model", "tflite"],
                      "saved_model: for TensorFlow Serving; tflite: for small devices, from ids.")
    flags.DEFINE_enum(
        "weights", "float32", ["float32", "float16", "bfloat16", "int8"],
        "How weights are stored. saved_model: float32, bfloat16 or int8, all float32 once loaded; tflite: float32, "
        "float16, or int8 (dynamic range, which computes in integers).")


def main(argv):
    """Checks the flags, then loads and exports."""
    del argv
    if not FLAGS.export_dir:
        raise InputError("--export_dir is needed")
    if os.path.exists(FLAGS.export_dir) and not os.path.isdir(FLAGS.export_dir):
        raise InputError(f"--export_dir={FLAGS.export_dir}: is a file, a folder is needed")
    if FLAGS.weights not in WEIGHTS[FLAGS.format]:
        raise InputError(f"--weights={FLAGS.weights}: --format={FLAGS.format} stores "
                         f"{', '.join(WEIGHTS[FLAGS.format])}")
    given = {name: FLAGS[name].value for name in FLAGS if FLAGS[name].present}
    if FLAGS.labels_file:
        given["labels"] = read_labels(FLAGS.labels_file)
    if FLAGS.format == "tflite":
        given["static_length"] = True
    servable, settings = loading.load(FLAGS.init_checkpoint, given)
    if FLAGS.format == "tflite":
        export_tflite(servable, FLAGS.export_dir, FLAGS.weights)
    else:
        export_saved_model(servable, settings, FLAGS.export_dir, FLAGS.version, FLAGS.weights)


def read_labels(labels_file):
    """The label names of `--labels_file`, a tuple."""
    paths.check_file("labels_file", labels_file)
    with open(labels_file, encoding="utf-8") as file:
        labels = tuple(file.read().splitlines())
    if not labels:
        raise InputError(f"--labels_file={labels_file}: is empty; leave it out for a model that gives a number")
    return labels


def export_saved_model(servable, settings, export_dir, version, weights):
    """Writes the SavedModel and says what it is."""
    from bert_tf import export

    path, has_warmup = export.save(servable, export_dir, version=version, weights=weights)
    labels = f", labels {', '.join(settings.labels)}" if settings.labels else ""
    print(f"{path}: SavedModel of a {settings.kind}, {_megabytes(path):.1f} MB, with the signatures serving_default "
          f"({', '.join(servable.text_inputs)}), ids and tf_example{labels}")
    if not has_warmup:
        print("warm-up requests were left out; they need: pip install --no-deps tensorflow-serving-api==2.20.0")


def export_tflite(servable, export_dir, weights):
    """Writes the LiteRT model and says how large it is and how near to the whole one."""
    from bert_tf.export import tflite

    content = tflite.convert(servable, weights)
    os.makedirs(export_dir, exist_ok=True)
    path = os.path.join(export_dir, f"model_{weights}.tflite")
    with new_file(path, "wb") as file:
        file.write(content)
    difference = tflite.largest_difference(servable, content)
    print(f"{path}: LiteRT model with {weights} weights, {len(content) / 1e6:.1f} MB, inputs of "
          f"{servable.max_seq_length} ids; run with ai-edge-litert, its answer is within {difference:.1e} of the whole "
          "model's")


def _megabytes(folder):
    return sum(os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(folder) for name in names) / 1e6


if __name__ == "__main__":
    script.run(main, define_flags)
