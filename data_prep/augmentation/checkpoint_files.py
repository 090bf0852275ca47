"""The config and vocabulary of the model that proposes words, from flags or next to its checkpoint."""

from bert_tf import model_folder
from bert_tf.cli import paths
from bert_tf.errors import InputError
from bert_tf.model_folder.tokenizers import TOKENIZER_NAME
from bert_tf.tokenization.vocabulary import count_ids, read_vocabulary


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
    if count_ids(vocabulary) > config.vocab_size:
        raise InputError(f"`vocab_file`={vocab_file}: has {count_ids(vocabulary)} entries, but the model has "
                         f"{config.vocab_size}")
    casings = settings.do_lower_case, tokenizer.do_lower_case, True
    lower_case = next(each for each in casings if each is not None)
    strip_accents = settings.strip_accents
    if strip_accents is None and lower_case == casings[1]:  # Otherwise, the directory's belongs to another casing.
        strip_accents = tokenizer.strip_accents
    return config, vocabulary, lower_case, strip_accents
