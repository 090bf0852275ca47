"""The keys of other libraries' JSON files, by their effect on the numbers of a model.

Each key of a file is in one of three lists. A reader follows it, or it must have the value that
this project computes, or it does not affect the numbers. Other keys print a note. The lists are of
transformers 5.24, tokenizers 0.23, sentence-transformers 6.2, PEFT 0.21, and KerasHub 0.32.
"""

import dataclasses
import itertools

from bert_tf import notes
from bert_tf.errors import InputError


@dataclasses.dataclass(frozen=True)
class FileKeys:
    """The keys of a JSON file, or of an object in it.

    Attributes:
      followed: Keys that a reader uses.
      fixed: Dict of key to the values that this project supports, besides null.
      ignored: Dict of reason to the keys that do not affect the numbers for this reason.
    """

    followed: tuple[str, ...] = ()
    fixed: dict[str, tuple] = dataclasses.field(default_factory=dict)
    ignored: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    @property
    def known(self):
        """List of all keys. Each is in one list, which a test checks."""
        return [*self.followed, *self.fixed, *itertools.chain(*self.ignored.values())]

    def check(self, values, path, scope=""):
        """Checks the values of a file, and prints a note about unknown keys.

        Args:
          values: Dict of the file.
          path: Path of the file, for messages.
          scope: Keys that lead to the object in the file, such as "model.".

        Raises:
          InputError: If a fixed key has another value.
        """
        for key, supported in self.fixed.items():
            value = values.get(key)
            if value is not None and not any(
                type(value) is type(one) and value == one for one in supported
            ):
                only = " or ".join(repr(one) for one in supported)
                raise InputError(
                    f"{path}: {scope}{key} is {value!r:.80}: "
                    + (f"only {only} is supported" if supported else "not supported")
                )
        unknown = sorted(set(values) - set(self.known))
        if unknown:
            notes.tell(f"{path}: ignoring unknown keys: {scope}{', '.join(unknown)}")


TRAINING = "training only"
ORIGIN = "describes where the file is from"
GENERATION = "text generation only"
OUTPUT_FORM = "form of the library's outputs, not their numbers"

# adapter_config.json of PEFT.
ADAPTER_CONFIG = FileKeys(
    followed=(
        "base_model_name_or_path",
        "r",
        "lora_alpha",
        "rank_pattern",
        "alpha_pattern",
        "use_rslora",
        "task_type",
    ),
    fixed={
        "peft_type": ("LORA",),
        "use_dora": (False,),
        "lora_bias": (False,),
        "fan_in_fan_out": (False,),
        "use_qalora": (False,),
        "ensure_weight_tying": (False,),
        "init_lora_weights": (True, False, "gaussian", "orthogonal"),
        "loftq_config": ({},),
        "layer_replication": (),
        "megatron_config": (),
        "trainable_token_indices": (),
        "target_parameters": (),
        "alora_invocation_tokens": (),
        "arrow_config": (),
        "kasa_config": (),
        "use_bdlora": (),
        "monteclora_config": (),
        "velora_config": (),
    },
    ignored={
        "the names of the tensors show it": (
            "target_modules",
            "exclude_modules",
            "layers_to_transform",
            "layers_pattern",
            "modules_to_save",
            "bias",
        ),
        TRAINING: (
            "lora_dropout",
            "inference_mode",
            "eva_config",
            "corda_config",
            "lora_ga_config",
        ),
        ORIGIN: ("peft_version", "revision", "auto_mapping"),
        "without the setting that uses it": ("megatron_core", "qalora_group_size"),
    },
)
