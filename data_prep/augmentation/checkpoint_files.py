"""The config and vocabulary of the model that proposes words, from flags or next to its checkpoint."""

from bert_tf import model_folder
from bert_tf.cli import paths
from bert_tf.errors import InputError
from bert_tf.model_folder.tokenizers import TOKENIZER_NAME
from bert_tf.tokenization import read_vocabulary


def read(settings):
    """Reads the config, the vocabulary, and the casing for AugmentationSettings.

    Returns:
      Tuple `(config, vocabulary, lower_case, strip_accents)`: BertConfig, list of str, bool, and bool. `strip_accents`
      is None if it depends on `lower_case`.

    Raises:
      InputError: If a file is missing or damaged, or if the vocabulary does not belong to the model.
    """
    checkpoint = settings.init_checkpoint
    with paths.convert_remote_errors("init_checkpoint"):
        model_folder.check_loadable(checkpoint)
        config_file = settings.bert_config_file or model_folder.find_config(checkpoint)
        tokenizer = model_folder.find_tokenizer(checkpoint)
    vocab_file = settings.vocab_file or tokenizer.vocab_file
    for name, path in (("bert_config_file", config_file), ("vocab_file", vocab_file)):
        if path is None:
            raise InputError(f"`{name}` is required, because there is none next to `init_checkpoint`={checkpoint}")
        paths.check_file(name, path)
    config = model_folder.read_config(config_file)
    is_json = vocab_file.endswith(TOKENIZER_NAME)
    vocabulary = model_folder.read_tokenizer_json_vocabulary(vocab_file) if is_json else read_vocabulary(vocab_file)
    if len(vocabulary) > config.vocab_size:
        raise InputError(f"`vocab_file`={vocab_file}: has {len(vocabulary)} entries, but the model has "
                         f"{config.vocab_size}")
    if settings.do_lower_case is not None:
        return config, vocabulary, settings.do_lower_case, None
    lower_case = True if tokenizer.do_lower_case is None else tokenizer.do_lower_case
    return config, vocabulary, lower_case, tokenizer.strip_accents
