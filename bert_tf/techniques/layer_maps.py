"""Which layers of a teacher a student is made of, and compared with. Free of TensorFlow."""

import dataclasses

from bert_tf.errors import InputError

INNER = ("hidden", "attention", "cls")  # what is compared of the inside of the models
OUTER = ("logits", "label")


def map_layers(kind, num_student, num_teacher):
    """The teacher's layer that each layer of the student is compared with.

    Args:
      kind: "uniform": as deep, in proportion (TinyBERT's i * k + k - 1); "last": the teacher's last ones; or a tuple of
        int, the teacher's layers themselves.
      num_student, num_teacher: how many layers there are.

    Returns:
      Tuple of int, a layer of the teacher, from 0, for each of the student.

    Raises:
      InputError: the student has more layers, or a tuple of another length, or one that names no layer.
    """
    if isinstance(kind, tuple):
        if len(kind) != num_student:
            raise InputError(f"`layer_map`={_shown(kind)}: names {len(kind)} layers, the student has {num_student}")
        check_layers("layer_map", kind, num_teacher)
        return kind
    if num_student > num_teacher:
        raise InputError(f"`layer_map`={kind}: the student has {num_student} layers, the teacher only {num_teacher}; "
                         "name one of the teacher's for each")
    if kind == "last":
        return tuple(range(num_teacher - num_student, num_teacher))
    return tuple(int((number + 1) * num_teacher / num_student + 0.5) - 1 for number in range(num_student))


def check_layers(name, layers, num_teacher):
    """Raises InputError, naming the argument, unless all of `layers` are of a teacher of `num_teacher` layers."""
    wrong = next((layer for layer in layers if not 0 <= layer < num_teacher), None)
    if wrong is not None:
        raise InputError(f"`{name}`={_shown(layers)}: the teacher has no layer {wrong}, its layers are 0 to "
                         f"{num_teacher - 1}")


def student_config(config, layers):
    """The BertConfig of a student that has some of the layers, a tuple of int, of a teacher of `config`."""
    def of_layers(value):
        is_by_layer = isinstance(value, tuple) and len(value) == config.num_hidden_layers
        return tuple(value[layer] for layer in layers) if is_by_layer else value

    fields = {field.name: of_layers(getattr(config, field.name)) for field in dataclasses.fields(config)}
    return type(config)(**{**fields, "num_hidden_layers": len(layers)})


def _shown(layers):
    return ",".join(map(str, layers))
