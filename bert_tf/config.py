"""The sizes and dropout rates of a BERT model.

They are in a `bert_config.json`, or in Hugging Face's `config.json`.
"""

import dataclasses
import json
import math

from bert_tf.checkpoints import huggingface_config
from bert_tf.errors import InputError, name_file
from bert_tf.files import read_json_object
from bert_tf.variables import get_shapes

HIDDEN_ACTIVATIONS = ("gelu", "gelu_exact", "relu", "tanh", "linear")
BIDIRECTIONAL = "bidirectional"
CAUSAL = "causal"
ATTENTIONS = (BIDIRECTIONAL, CAUSAL)

# Layers, hidden size, and heads of the published models: base and large (section 3 of the paper),
# and the smaller ones of Turc et al. 2019, "Well-Read Students Learn Better". The head width is
# always 64.
PUBLISHED_SIZES = {
    "tiny": (2, 128, 2),
    "mini": (4, 256, 4),
    "small": (4, 512, 8),
    "medium": (8, 512, 8),
    "base": (12, 768, 12),
    "large": (24, 1024, 16),
}
PUBLISHED_VOCAB_SIZE = 30522  # the English uncased vocabulary
MAX_SIZE = 2**31 - 1  # Shapes and IDs are int32.
MAX_LAYERS = 10_000
MAX_PARAMETERS = 10**12  # The weights of a larger model fit on no machine.


@dataclasses.dataclass(frozen=True)
class BertConfig:
    """Configuration of a BERT encoder.

    The original's `BertConfig` has the same field names and defaults.

    Attributes:
      vocab_size: Number of WordPiece entries, V.
      hidden_size: Hidden size of the encoder, H; a multiple of `num_attention_heads`.
      num_hidden_layers: Number of Transformer layers, L.
      num_attention_heads: Heads per attention layer, N.
      intermediate_size: Size of the feed-forward layer.
      hidden_act: One of HIDDEN_ACTIVATIONS. "gelu" is the tanh approximation of the original;
        "gelu_exact" is the erf form, which imported Hugging Face checkpoints require.
      hidden_dropout_prob: Dropout rate after embeddings and after each sublayer's projection.
      attention_probs_dropout_prob: Dropout rate of the attention probabilities.
      max_position_embeddings: Number of position embeddings, the maximum sequence length.
      type_vocab_size: Number of token-type (segment) embeddings; 0 for a model without them
        (DistilBERT), which ignores segment IDs.
      initializer_range: Standard deviation of the truncated normal that initializes kernels and
        embeddings.
      attention_heads_per_layer: Number of heads of each layer of a pruned model, at most N; their
        width remains H / N. None if each layer has N.
      intermediate_size_per_layer: Feed-forward size of each layer of a pruned model; None if each
        layer has `intermediate_size`.
      embedding_size: Columns of the word embedding matrix, E, below H; a matrix [E, H] then leads
        to the encoder (section 3.1 of ALBERT, Lan et al. 2019). None for H columns.
      num_hidden_groups: Number of sets of weights, each shared by consecutive layers (ALBERT); a
        divisor of `num_hidden_layers`. None if each layer has its own.
      attention: "bidirectional", or "causal" if tokens attend only to themselves and earlier
        tokens, and the pooler reads the last token (the left-to-right models of section 5.1 of the
        paper).
      bilstm_head: If True, a fine-tuned model has a bidirectional LSTM between the encoder and the
        task head, as in table 5 of the paper. Each direction has H / 2 outputs.
      pooler_act: Activation of the pooler, one of HIDDEN_ACTIVATIONS: "relu" in DistilBERT's
        classifiers, "gelu_exact" in ELECTRA's. None for "tanh".
      project_embedding_sum: Whether the sum of word, segment, and position embeddings, normalized,
        has `embedding_size` columns and is then projected to H, with a bias (ELECTRA). None if only
        the words are projected.
      tie_word_embeddings: Whether the masked LM scores with the word embeddings, as in the
        original, instead of a separate matrix.

    The last nine are written only if they differ from their default. A value that None implies
    becomes None.

    Raises:
      InputError: If a field is invalid, with its name, its value, and the valid values.
    """

    vocab_size: int
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 16
    initializer_range: float = 0.02
    attention_heads_per_layer: tuple[int, ...] | None = None
    intermediate_size_per_layer: tuple[int, ...] | None = None
    embedding_size: int | None = None
    num_hidden_groups: int | None = None
    # In the config, because a flag or task.json would be lost in a conversion, and the head would
    # then read the wrong states.
    attention: str = BIDIRECTIONAL
    bilstm_head: bool = False
    pooler_act: str | None = None
    project_embedding_sum: bool | None = None
    tie_word_embeddings: bool = True

    def __post_init__(self):
        for name in (
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
            "max_position_embeddings",
        ):
            _check_size(name, getattr(self, name))
        _check_size("type_vocab_size", self.type_vocab_size, min_size=0)
        if self.num_hidden_layers > MAX_LAYERS:
            raise InputError(
                f"num_hidden_layers is {self.num_hidden_layers}: must be at most {MAX_LAYERS}"
            )
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            rate = getattr(self, name)
            if not _is_number(rate) or not 0 <= rate < 1:
                raise InputError(f"{name} is {rate!r}: must be a number, at least 0 and below 1")
        if not _is_number(self.initializer_range) or not 0 < self.initializer_range < math.inf:
            raise InputError(
                f"initializer_range is {self.initializer_range!r}: must be a positive number"
            )
        if self.hidden_size % self.num_attention_heads:
            raise InputError(
                f"hidden_size is {self.hidden_size}: must be a multiple of "
                f"num_attention_heads ({self.num_attention_heads})"
            )
        for name, choices in (
            ("hidden_act", HIDDEN_ACTIVATIONS),
            ("pooler_act", (None, *HIDDEN_ACTIVATIONS)),
            ("attention", ATTENTIONS),
        ):
            value = getattr(self, name)
            if value not in choices:
                raise InputError(
                    f"{name} is {value!r}: must be one of {', '.join(filter(None, choices))}"
                )
        for name, types in (
            ("bilstm_head", bool),
            ("tie_word_embeddings", bool),
            ("project_embedding_sum", bool | None),
        ):
            if not isinstance(getattr(self, name), types):
                raise InputError(f"{name} is {getattr(self, name)!r}: must be true or false")
        if self.bilstm_head and self.hidden_size % 2:
            raise InputError(f"hidden_size is {self.hidden_size}: must be even with bilstm_head")
        self._check_sizes_per_layer()
        self._check_shared()
        if self.pooler_act == "tanh":
            object.__setattr__(self, "pooler_act", None)
        if not (self.project_embedding_sum and self.embedding_size):
            object.__setattr__(self, "project_embedding_sum", None)
        if self.num_parameters > MAX_PARAMETERS:
            raise InputError(
                f"the encoder has {self.num_parameters:,} weights: must be at most "
                f"{MAX_PARAMETERS:,}"
            )

    def _check_sizes_per_layer(self):
        for name, size_name in (
            ("attention_heads_per_layer", "num_attention_heads"),
            ("intermediate_size_per_layer", "intermediate_size"),
        ):
            sizes = getattr(self, name)
            if sizes is None:
                continue
            if not isinstance(sizes, list | tuple) or len(sizes) != self.num_hidden_layers:
                raise InputError(
                    f"{name} is {sizes!r}: must be a list of num_hidden_layers "
                    f"({self.num_hidden_layers}) sizes"
                )
            for number, size in enumerate(sizes):
                _check_size(f"{name} of layer {number}", size)
            if size_name == "num_attention_heads" and max(sizes) > self.num_attention_heads:
                raise InputError(
                    f"{name} is {list(sizes)}: must be at most num_attention_heads "
                    f"({self.num_attention_heads}), which determines the head size"
                )
            is_implied = {*sizes} == {getattr(self, size_name)}
            object.__setattr__(self, name, None if is_implied else tuple(sizes))

    def _check_shared(self):
        if self.embedding_size is not None:
            _check_size("embedding_size", self.embedding_size)
            if self.embedding_size > self.hidden_size:
                raise InputError(
                    f"embedding_size is {self.embedding_size}: must be at most hidden_size "
                    f"({self.hidden_size})"
                )
            if self.embedding_size == self.hidden_size:
                object.__setattr__(self, "embedding_size", None)
        if self.num_hidden_groups is not None:
            _check_size("num_hidden_groups", self.num_hidden_groups)
            if self.num_hidden_layers % self.num_hidden_groups:
                raise InputError(
                    f"num_hidden_groups is {self.num_hidden_groups}: must divide num_hidden_layers "
                    f"({self.num_hidden_layers})"
                )
            if self.num_hidden_groups == self.num_hidden_layers:
                object.__setattr__(self, "num_hidden_groups", None)
            elif self.attention_heads_per_layer or self.intermediate_size_per_layer:
                raise InputError(
                    f"num_hidden_groups is {self.num_hidden_groups}: cannot be combined with "
                    "attention_heads_per_layer or intermediate_size_per_layer"
                )

    @property
    def is_causal(self):
        """True if no token attends to a later one."""
        return self.attention == CAUSAL

    @property
    def head_width(self):
        """Width of one attention head, D = H / N."""
        return self.hidden_size // self.num_attention_heads

    @property
    def embedding_width(self):
        """Number of columns of the segment and position embeddings and of their LayerNorm.

        E if the sum of the embeddings is projected, otherwise H.
        """
        return self.embedding_size if self.project_embedding_sum else self.hidden_size

    @property
    def num_segments(self):
        """Number of valid segment IDs."""
        return self.type_vocab_size or 2

    @property
    def layer_sizes(self):
        """Number of heads and feed-forward size of each layer: L pairs of int."""
        layers = self.num_hidden_layers
        return list(
            zip(
                self.attention_heads_per_layer or (self.num_attention_heads,) * layers,
                self.intermediate_size_per_layer or (self.intermediate_size,) * layers,
                strict=True,
            )
        )

    @property
    def layer_groups(self):
        """0-based number of each layer's set of weights: L times int."""
        groups = self.num_hidden_groups or self.num_hidden_layers
        return [layer * groups // self.num_hidden_layers for layer in range(self.num_hidden_layers)]

    @property
    def num_parameters(self):
        """Number of weights of a BertEncoder with this config, including the pooler.

        Task heads are not counted.
        """
        return sum(map(math.prod, get_shapes(self).values()))

    @classmethod
    def from_name(cls, name, vocab_size=PUBLISHED_VOCAB_SIZE):
        """Creates the config of a published model.

        The feed-forward size is four times the hidden size, with 512 positions and 2 segment types.

        Args:
          name: str. "tiny", "mini", "small", "medium", "base", or "large".
          vocab_size: int. Number of WordPiece entries.

        Raises:
          InputError: If the name is unknown.
        """
        if name not in PUBLISHED_SIZES:
            raise InputError(
                f"unknown BERT size {name!r}; must be one of {', '.join(PUBLISHED_SIZES)}"
            )
        layers, width, heads = PUBLISHED_SIZES[name]
        return cls(
            vocab_size,
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            type_vocab_size=2,
        )

    @classmethod
    def from_dict(cls, values):
        """Creates a config from a dict.

        Raises InputError for an unknown key or if `vocab_size` is missing.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - known - ORIGINAL_POOLER_KEYS)
        if unknown:
            raise InputError(
                f"unknown key {unknown[0]!r} in a BERT config; must be one of "
                f"{', '.join(sorted(known))}"
            )
        if "vocab_size" not in values:
            raise InputError("a BERT config requires the key 'vocab_size'")
        return cls(**{key: value for key, value in values.items() if key in known})

    @classmethod
    def from_hugging_face(cls, values, model_type):
        """Converts the values of Hugging Face's `config.json`.

        Keys that do not affect the computation are ignored.

        Args:
          values: Dict.
          model_type: str. Result of `huggingface_config.check_model_type`.

        Raises:
          InputError: If this project does not support the model.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        values = huggingface_config.to_bert(values, model_type)
        return cls.from_dict({key: value for key, value in values.items() if key in known})

    @classmethod
    def from_json_file(cls, path):
        """Reads a `bert_config.json` or Hugging Face's `config.json`, which its keys show.

        Args:
          path: Path of the file.

        Raises:
          InputError: If the file is not a BERT config, or if this project does not support the
            model, with the path.
        """
        values = read_json_object(path)
        with name_file(path):
            if any(key in values for key in huggingface_config.MARKS):
                model_type = huggingface_config.check_model_type(values)
                return cls.from_hugging_face(values, model_type)
            return cls.from_dict(values)

    def to_dict(self):
        """Returns the fields as a dict of JSON values.

        Fields that the original does not have are omitted if they have their defaults.
        """
        values = {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if value is not None and LATER_DEFAULTS.get(name, ...) != value
        }
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
        }

    def to_json(self):
        """Returns the text of a `bert_config.json` in the original's format.

        Its keys are sorted, and indented by two spaces.
        """
        return json.dumps(self.to_dict(), indent=2, sort_keys=True) + "\n"


# A config omits these, like the original's.
LATER_DEFAULTS = {
    "attention": BIDIRECTIONAL,
    "bilstm_head": False,
    "tie_word_embeddings": True,
}

# The published multilingual and Chinese configs carry these keys; no version of the original reads
# them.
ORIGINAL_POOLER_KEYS = frozenset(
    {
        "directionality",
        "pooler_fc_size",
        "pooler_num_attention_heads",
        "pooler_num_fc_layers",
        "pooler_size_per_head",
        "pooler_type",
    }
)


def _check_size(name, value, min_size=1):
    if not isinstance(value, int) or isinstance(value, bool) or not min_size <= value <= MAX_SIZE:
        raise InputError(
            f"{name} is {value!r}: must be a {'positive' if min_size else 'non-negative'} integer, "
            f"at most {MAX_SIZE}"
        )


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)
