"""The layers of a teacher from which a student is created or with which it is compared.

Does not import TensorFlow.
"""

import dataclasses

from bert_tf.errors import InputError

INNER = ("hidden", "attention", "cls")  # Compared intermediate outputs of the models.
OUTER = ("logits", "label")


def map_layers(layer_map, num_student, num_teacher):
    """Returns the teacher's layer to compare with each layer of the student.

    Args:
      layer_map: "uniform" for layers at the same relative depth (TinyBERT's i * k + k - 1); "last"
        for the teacher's last layers; or a tuple of int, the teacher's layers.
      num_student, num_teacher: int. Number of layers.

    Returns:
      Tuple of int. 0-based layers of the teacher.

    Raises:
      InputError: If the student has more layers, or if the tuple has the wrong length or an invalid
        layer.
    """
    if isinstance(layer_map, tuple):
        if len(layer_map) != num_student:
            raise InputError(
                f"lists {len(layer_map)} layers, but the student has {num_student}",
                "layer_map",
                _join(layer_map),
            )
        check_layers("layer_map", layer_map, num_teacher)
        return layer_map
    if num_student > num_teacher:
        raise InputError(
            f"the student has {num_student} layers, but the teacher only {num_teacher}; list one "
            "layer of the teacher for each",
            "layer_map",
            layer_map,
        )
    if layer_map == "last":
        return tuple(range(num_teacher - num_student, num_teacher))
    return tuple(
        int((number + 1) * num_teacher / num_student + 0.5) - 1 for number in range(num_student)
    )


def check_layers(name, layers, num_teacher):
    """Raises InputError about argument `name` unless the teacher has all of the `layers`."""
    wrong = next((layer for layer in layers if not 0 <= layer < num_teacher), None)
    if wrong is not None:
        raise InputError(
            f"layer {wrong} does not exist; the teacher has layers 0 to {num_teacher - 1}",
            name,
            _join(layers),
        )


def student_config(config, layers):
    """Returns the BertConfig of a student with some layers of a teacher.

    Args:
      config: BertConfig of the teacher.
      layers: Sequence of int. 0-based layers of the teacher.
    """

    def select_layers(value):
        is_by_layer = isinstance(value, tuple) and len(value) == config.num_hidden_layers
        return tuple(value[layer] for layer in layers) if is_by_layer else value

    fields = {
        field.name: select_layers(getattr(config, field.name))
        for field in dataclasses.fields(config)
    }
    return type(config)(**{**fields, "num_hidden_layers": len(layers)})


def _join(layers):
    return ",".join(map(str, layers))
