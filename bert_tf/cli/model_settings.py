"""The model, with its vocabulary and casing. Does not import TensorFlow before a tokenizer is read.

Values that the directory of a checkpoint contains are optional: bert_tf.cli.resolution finds them.
"""

import dataclasses

from bert_tf.cli import roles
from bert_tf.cli.model_files import ModelFiles
from bert_tf.cli.resolution import CASING, CONFIG, VOCABULARY
from bert_tf.cli.rules import Required
from bert_tf.cli.settings import Settings, adapt, setting
from bert_tf.config import PUBLISHED_SIZES, BertConfig
from bert_tf.tokenization.vocabulary import check_casing


@dataclasses.dataclass(frozen=True)
class ConfigSettings(Settings):
    """Config of a checkpoint."""

    bert_config_file: str | None = setting(
        None,
        "The model's bert_config.json, Hugging Face's config.json, the Model Garden's "
        "params.yaml, or the name of a published size with 30,522 vocabulary entries "
        f"({', '.join(PUBLISHED_SIZES)}). Required unless the directory of the checkpoint "
        "contains a config.",
        role=roles.INPUT,
        source=CONFIG,
    )


@dataclasses.dataclass(frozen=True)
class ModelSettings(ConfigSettings):
    """Model: the encoder's config and the source of its weights."""

    init_checkpoint: str | None = setting(
        None,
        "Checkpoint to start from: a prefix (bert_model.ckpt, ckpt-1000), a .safetensors file, or "
        "a directory, in the format of the original BERT, these scripts, the Model Garden, or "
        "Hugging Face. Config, vocabulary, and casing default to those in its directory.",
        role=roles.INPUT,
    )
    config: BertConfig | None = dataclasses.field(default=None, compare=False, repr=False)
    model_files: ModelFiles | None = dataclasses.field(default=None, compare=False, repr=False)


@dataclasses.dataclass(frozen=True)
class CasingSettings(Settings):
    """Casing of the vocabulary."""

    do_lower_case: bool = setting(
        True,
        "Lowercase the text and strip accents: true for uncased models, false for cased models. "
        "Use the same value in all steps.",
    )
    strip_accents: bool | None = setting(
        None,
        "Strip accents. Defaults to --do_lower_case. The two differ for some models, such as "
        "lowercase German models that keep umlauts. Use the same value in all steps.",
    )


@dataclasses.dataclass(frozen=True)
class TokenizerSettings(Settings):
    """Texts: vocabulary, casing, and length."""

    vocab_file: str | None = setting(
        None,
        "The model's vocab.txt, one WordPiece token per line, or Hugging Face's tokenizer.json. "
        "It must be the vocabulary that the checkpoint was trained with. Required unless the "
        "directory of the checkpoint contains one.",
        rules=[Required()],
        role=roles.INPUT_FILE,
        source=VOCABULARY,
    )
    do_lower_case: bool = adapt(
        CasingSettings,
        "do_lower_case",
        help_text="Lowercase the text and strip accents: true for uncased models, false for cased "
        "models. Defaults to the setting in the checkpoint's directory.",
        source=CASING,
    )
    strip_accents: bool | None = adapt(
        CasingSettings,
        "strip_accents",
        help_text="Strip accents. Defaults to the setting in the checkpoint's directory, otherwise "
        "to --do_lower_case. The two differ for some models, such as lowercase German models that "
        "keep umlauts.",
        source=CASING,
        rare=True,
    )
    max_seq_length: int = setting(
        128,
        "Maximum sequence length in tokens, including [CLS] and [SEP]; longer texts are "
        "truncated. At most max_position_embeddings of the config.",
        min_value=4,
    )

    def read_tokenizer(self, init_checkpoint, config):
        """Creates the BertTokenizer.

        Raises InputError if the checkpoint's name or the config contradicts it.
        """
        check_casing(self.do_lower_case, init_checkpoint)
        # TensorFlow Text takes seconds to import: checks come first.
        from bert_tf.tokenization import read_tokenizer

        return read_tokenizer(
            self.vocab_file, self.do_lower_case, init_checkpoint, config, self.strip_accents
        )
