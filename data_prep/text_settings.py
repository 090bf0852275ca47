"""Settings of the text files that a job reads."""

import dataclasses

from bert_tf.cli import roles
from bert_tf.cli.rules import Required
from bert_tf.cli.settings import Settings, setting


@dataclasses.dataclass(frozen=True)
class TextSettings(Settings):
    """Text files."""

    input_file: str | None = setting(
        None,
        "Text files in UTF-8: comma-separated paths, glob patterns, or directories, whose files "
        "are all read except hidden ones. Files in gzip format are decompressed.",
        rules=[Required()],
        role=roles.INPUT_FILES,
    )
