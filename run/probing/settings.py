"""What a probing is told. Free of TensorFlow: the script defines its flags of it."""

import dataclasses
from typing import ClassVar

from bert_tf.cli import paths, places
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.cli.settings import LARGEST_SEED, Settings, setting
from bert_tf.errors import InputError
from run.settings import DeviceSettings

TREEBANK_SUFFIX = ".conllu"
WRITTEN = r"probes\.(txt|tsv|json|png)"


@dataclasses.dataclass(frozen=True)
class ProbeLayersSettings(Settings):
    """A model, labelled words, and what is to be read off its layers."""

    always_required: ClassVar = ("init_checkpoint",)

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    devices: DeviceSettings = dataclasses.field(default_factory=DeviceSettings)
    train_file: str | None = setting(
        None, "Words to learn from: a treebank in CoNLL-U (.conllu), or a file of a word a line, columns divided by "
              "tabs or spaces, sentences by empty lines. Needed.", required=True, place=places.INPUT_FILE)
    dev_file: str | None = setting(None, "Words to judge by, in the same form. Needed.", required=True,
                                   place=places.INPUT_FILE)
    output_dir: str | None = setting(None, "Folder for probes.txt, .tsv, .json and .png; made if missing. Needed.",
                                     required=True, place=places.SHARED_FOLDER)
    label: str = setting(
        "tags", "What is read off: tags, the label of each word (of a treebank its universal part of speech); "
                "relations, of a treebank, the relation of each word to its head, off both of their vectors; spans, of "
                "labels as B-PER, the kind of each entity, off the vectors of its first and its last word.",
        choices=("tags", "relations", "spans"))
    token_column: int = setting(0, "Without a treebank: column of the word, from 0; negative from the last, -1.")
    label_column: int = setting(-1, "Without a treebank: column of the label.")
    max_train_words: int = setting(
        50_000, "Words of --train_file that are read, and of --dev_file: so many vectors of each layer are in memory.",
        lower=1, upper=10_000_000)
    batch_size: int = setting(32, "Sentences that go through the model together.", lower=1)
    num_probe_epochs: int = setting(20, "Times that the probes go through the words.", lower=1)
    probe_learning_rate: float = setting(2e-3, "Adam's first rate for the probes; it falls linearly to 0.", lower=0)
    random_seed: int = setting(12345, "Of the labels of the control task, and of the words' order.", most=LARGEST_SEED)

    def check_files(self):
        """See Settings; InputError too for files that do not go together, or would be replaced."""
        if self.label == "relations" and not self.reads_treebanks:
            raise InputError(f"is of treebanks, and `train_file`={self.train_file} does not end in {TREEBANK_SUFFIX}",
                             "label", self.label)
        if self.label == "spans" and self.reads_treebanks:
            raise InputError(f"is of files with a label for each word, and `train_file`={self.train_file} is a "
                             "treebank", "label", self.label)
        if self.reads_treebanks != self.dev_file.endswith(TREEBANK_SUFFIX):
            raise InputError(f"is not of the form of `train_file`={self.train_file}; either both end in "
                             f"{TREEBANK_SUFFIX}, or none", "dev_file", self.dev_file)
        paths.check_not_replaced("output_dir", self.output_dir, WRITTEN, {
            name: self.values()[name] for name in ("train_file", "dev_file", "vocab_file", "bert_config_file")})

    @property
    def reads_treebanks(self):
        """Whether the files are in CoNLL-U."""
        return self.train_file.endswith(TREEBANK_SUFFIX)
