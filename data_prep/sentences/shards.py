"""Creation of files of sentences from raw text: the plan, and one shard from a part of the text."""

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import io
import os
import time

from bert_tf.errors import InputError
from bert_tf.files import LineDecoder, describe_dropped_bytes, new_file
from data_prep.sentences import formats, splitting
from data_prep.sharding import local_runner, manifest, shard_plan, text_units
from data_prep.sharding.shards import OutputKind, Shard, ShardCounts, no_progress

REQUIREMENT = "input files must have text in one of the formats of `format`"


def split_sentences(input_files, output_file, language="en", text_format="auto", *, num_output_shards=1,
                    max_shard_bytes=0, verify=False, create_shards=local_runner.create_shards,
                    announce=lambda line: None):
    """Splits raw text into sentences. Resumes an identical earlier run by creating only the missing shards.

    The text is divided between documents into parts, one per shard. The output depends on all arguments except
    `create_shards`, and on the version of sentencex. A manifest is stored next to the output.

    Args:
      input_files: Paths of text files, each in a format of `formats`. May be .gz.
      output_file: Path of the output; with several shards, a pattern for one file per shard (shard_plan.shard_file).
        It has one sentence per line, and a blank line after each document.
      language: str. Code of the language.
      text_format: str. Key of formats.ENDS, or "auto" to detect the format of each file.
      num_output_shards, max_shard_bytes, verify, create_shards, announce: See plan.create_pretraining_data.

    Returns:
      shard_plan.Summary.

    Raises:
      InputError: If the text of a shard contains no sentence, if a file is not in its format, or if
        an existing output was created from other inputs or with other settings.
      OSError: If a file cannot be read or written.
    """
    start = time.perf_counter()
    text_formats = {path: formats.detect_format(path) if text_format == "auto" else text_format
                    for path in input_files}
    layout = text_units.TextLayout(lambda path, line: formats.ENDS[text_formats[path]](line), True, REQUIREMENT)
    units = text_units.plan_units(input_files, num_output_shards, max_shard_bytes, layout)
    plan = SentencePlan(input_files, [output_file], units, language, text_formats)
    return shard_plan.complete(plan, create_shards, start, num_output_shards=num_output_shards, verify=verify,
                               announce=announce)


@dataclasses.dataclass(frozen=True)
class Counts(ShardCounts):
    """Counts of the text read and the sentences written.

    Attributes:
      num_documents, num_sentences: Numbers of documents that contain a sentence, and of sentences.
      num_written: Number of bytes written.
      num_garbled: Number of lines of text with invalid UTF-8 bytes, which were dropped.
    """

    num_documents: int = 0
    num_sentences: int = 0
    num_written: int = 0
    num_garbled: int = 0


@dataclasses.dataclass(frozen=True)
class Passage:
    """A part of a file that begins with a document.

    Attributes:
      path: str. Path of the file.
      start: int. Position of the part in the file, in bytes after decompression.
      text_format: Key of formats.ENDS.
      blocks: List of bytes objects of complete lines.
    """

    path: str
    start: int
    text_format: str
    blocks: list

    def read_paragraphs(self, decoder, advance):
        """Returns the iterator of formats.read_paragraphs; advance: callable of the bytes of each block."""
        def read_lines():
            for block in self.blocks:
                yield from io.BytesIO(block)  # Unlike bytes.splitlines, ends lines only at \n.
                advance(len(block))

        return formats.read_paragraphs(read_lines(), self.text_format, self.path, self.start, decoder)


@dataclasses.dataclass(frozen=True)
class SentenceTask:
    """The inputs for creating a shard.

    Attributes:
      index: int. 0-based number of the shard.
      passages: List of Passage.
      output_file: Path of the shard.
      language: str. Code of the language.
      empty_error: InputError, to be raised if the passages contain no sentence.
    """

    index: int
    passages: list
    output_file: str
    language: str
    empty_error: InputError


@dataclasses.dataclass(frozen=True)
class SentencePlan(shard_plan.ShardPlan):
    """The arguments of split_sentences, with the text divided into units.

    Attributes:
      language: str. Code of the language.
      text_formats: Dict of input file -> key of formats.ENDS.
    """

    language: str
    text_formats: dict

    kind = OutputKind("output_dir", Counts)

    @property
    def create_shard(self):
        """See ShardPlan."""
        return create_shard

    def describe(self):
        """See ShardPlan."""
        return manifest.describe(self.input_files, {
            "language": self.language,
            "format": ",".join(dict.fromkeys(self.text_formats.values())),
            "num_output_shards": len(self.units),
            "sentencex": importlib.metadata.version("sentencex")})

    def create_task(self, index, reader, on_progress=None, num_threads=1):
        """See ShardPlan."""
        passages = [Passage(each.path, each.start, self.text_formats[each.path],
                            list(reader.read(text_units.Unit((each,)), on_progress)))
                    for each in self.units[index].ranges]
        if len(self.units) == 1:
            empty_error = text_units.create_empty_error(self.input_files, REQUIREMENT)
        else:
            empty_error = InputError(f"{text_units.describe_shard(self.units, index)} would contain no sentence; "
                                     f"{text_units.FEWER_SHARDS}")
        return SentenceTask(index, passages, self.shard_files[index][0], self.language, empty_error)

    def format_counts(self, counts):
        """See ShardPlan."""
        lines = [f"read     {counts.num_bytes / 1e6:,.2f} MB of text",
                 f"wrote    {counts.num_documents:,} documents, {counts.num_sentences:,} sentences, "
                 f"{counts.num_written / 1e6:,.2f} MB"]
        if counts.num_garbled:
            lines.append(f"note: {describe_dropped_bytes(counts.num_garbled)}")
        return lines


def create_shard(task, progress=no_progress):
    """Splits the text of a shard into sentences, and writes them.

    Args:
      task: SentenceTask.
      progress: See shards.no_progress.

    Returns:
      Shard. Its file is complete and has its final name.

    Raises:
      InputError: If the text contains no sentence, or a file is not in its format.
      OSError: If the file cannot be written. No partial file remains.
    """
    digest, decoder = hashlib.sha256(), LineDecoder()
    num_documents = num_sentences = num_written = 0
    num_bytes = sum(len(block) for passage in task.passages for block in passage.blocks)
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(new_file(task.output_file, "wb"))
        advance = stack.enter_context(progress("splitting", num_bytes, "B"))
        for passage in task.passages:
            for sentences in _read_documents(passage.read_paragraphs(decoder, advance), task.language):
                data = "".join(f"{sentence}\n" for sentence in [*sentences, ""]).encode()
                file.write(data)
                digest.update(data)
                num_documents += 1
                num_sentences += len(sentences)
                num_written += len(data)
        if not num_sentences:
            raise task.empty_error
    entry = {"file": os.path.basename(task.output_file), "bytes": num_written, "sha256": digest.hexdigest()}
    counts = Counts(num_bytes, num_documents, num_sentences, num_written, decoder.num_garbled)
    return Shard(task.index, [entry], counts)


def _read_documents(paragraphs, language):
    """Yields the list of sentences of each document that contains one."""
    sentences = []
    for paragraph in paragraphs:
        if paragraph:
            sentences += splitting.split_paragraph(paragraph, language)
        elif sentences:
            yield sentences
            sentences = []
