"""The settings of split_sentences."""

import dataclasses
import re

from bert_tf.cli import roles
from bert_tf.cli.rules import Required
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from data_prep.sentences import formats
from data_prep.text_settings import TextSettings

MAX_FILES = 512  # They are open at the same time. Systems allow 1,024 files per process or more.


@dataclasses.dataclass(frozen=True)
class SentenceSettings(TextSettings):
    """Settings for files and sentences."""

    output_dir: str | None = setting(
        None,
        "Directory for the sentences, created if it does not exist: sentences.txt, or several "
        "shards with names such as sentences-00000-of-00012.txt.",
        rules=[Required()],
        role=roles.OUTPUT_FOLDER,
    )
    language: str = setting(
        "en",
        "Language of the text: a lowercase Wikipedia code, such as en, ko, zh, ja, or hi. For "
        "unknown languages, the rules of English apply.",
    )
    format: str = setting(
        "auto",
        "Format of the text. text: one paragraph per line, and a blank line between documents. "
        "json: a JSON object per line, a document with the key text. doc: WikiExtractor's "
        "documents, from a line with <doc ...> to </doc>. auto: detect the format of each file "
        "from its first line that is not blank.",
        choices=("auto", *formats.FORMATS),
    )
    num_output_shards: int = setting(
        1,
        "Number of files of about equal size, each with complete documents.",
        min_value=1,
        max_value=MAX_FILES,
    )

    def check(self):
        """See Settings."""
        if not re.fullmatch(r"(simple|[a-z]{2,3})(-[a-z0-9]+)*", self.language):
            raise InputError(
                "must be a lowercase Wikipedia code, such as en, ko, or zh",
                "language",
                self.language,
            )
