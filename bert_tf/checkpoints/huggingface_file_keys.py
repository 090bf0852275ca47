"""The keys of the files of transformers and tokenizers; see `FileKeys`."""

from bert_tf.checkpoints.file_keys import GENERATION, ORIGIN, OUTPUT_FORM, TRAINING, FileKeys

SPECIAL_TOKEN_KEYS = (
    "cls_token",
    "sep_token",
    "pad_token",
    "mask_token",
    "unk_token",
    "bos_token",
    "eos_token",
)

# config.json of transformers, for BERT, DistilBERT, and ELECTRA.
CONFIG = FileKeys(
    followed=(
        "architectures",
        "model_type",
        "problem_type",
        "id2label",
        "num_labels",
        "vocab_size",
        "hidden_size",
        "embedding_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
        "hidden_act",
        "max_position_embeddings",
        "type_vocab_size",
        "hidden_dropout_prob",
        "attention_probs_dropout_prob",
        "initializer_range",
        "pruned_heads",
        "tie_word_embeddings",
        "dim",
        "n_layers",
        "n_heads",
        "hidden_dim",
        "activation",
        "dropout",
        "attention_dropout",
        "sentence_transformers",
        "sbert_ce_default_activation_function",
    ),
    fixed={
        "layer_norm_eps": (1e-12,),
        "position_embedding_type": ("absolute",),
        "is_decoder": (False,),
        "is_encoder_decoder": (False,),
        "add_cross_attention": (False,),
        "quantization_config": (),
        "pad_token_id": (0,),
        "summary_type": ("first",),
        "summary_use_proj": (True,),
        "summary_activation": ("gelu",),
    },
    ignored={
        TRAINING: (
            "classifier_dropout",
            "qa_dropout",
            "seq_classif_dropout",
            "summary_last_dropout",
            "gradient_checkpointing",
        ),
        ORIGIN: (
            "transformers_version",
            "_name_or_path",
            "_commit_hash",
            "finetuning_task",
            "language",
            "name",
            "auto_map",
            "tokenizer_class",
            "adapters",
            "custom_pipelines",
        ),
        GENERATION: (
            "use_cache",
            "output_past",
            "bos_token_id",
            "eos_token_id",
            "sep_token_id",
            "decoder_start_token_id",
            "max_length",
            "min_length",
            "do_sample",
            "early_stopping",
            "num_beams",
            "num_beam_groups",
            "diversity_penalty",
            "temperature",
            "top_k",
            "top_p",
            "typical_p",
            "repetition_penalty",
            "length_penalty",
            "no_repeat_ngram_size",
            "encoder_no_repeat_ngram_size",
            "bad_words_ids",
            "num_return_sequences",
            "output_scores",
            "return_dict_in_generate",
            "forced_bos_token_id",
            "forced_eos_token_id",
            "remove_invalid_values",
            "exponential_decay_length_penalty",
            "suppress_tokens",
            "begin_suppress_tokens",
            "prefix",
            "cross_attention_hidden_size",
            "tie_encoder_decoder",
        ),
        OUTPUT_FORM: (
            "output_attentions",
            "output_hidden_states",
            "return_dict",
            "torchscript",
            "use_return_dict",
            "task_specific_params",
        ),
        "type of the stored weights, which the file shows": ("dtype", "torch_dtype"),
        "the way of computing, with equal results": (
            "chunk_size_feed_forward",
            "use_bfloat16",
            "tf_legacy_loss",
            "_attn_implementation",
            "_attn_implementation_autoset",
            "attn_implementation",
            "xla_device",
        ),
        "the inverse of id2label": ("label2id",),
        "the position embeddings are stored": ("sinusoidal_pos_embds",),
        "unused by BERT's classes": (
            "directionality",
            "pooler_fc_size",
            "pooler_num_attention_heads",
            "pooler_num_fc_layers",
            "pooler_size_per_head",
            "pooler_type",
            "generator_size",
            "model_max_length",
        ),
    },
)

# tokenizer_config.json of transformers.
TOKENIZER_CONFIG = FileKeys(
    followed=(
        "tokenizer_class",
        "do_lower_case",
        "strip_accents",
        "model_max_length",
        "max_len",
        "added_tokens_decoder",
        "additional_special_tokens",
        "extra_special_tokens",
    ),
    fixed={
        "tokenize_chinese_chars": (True,),
        "do_basic_tokenize": (True,),
        "word_tokenizer_type": ("basic",),
        "subword_tokenizer_type": ("wordpiece",),
        "never_split": ([],),
        "truncation_side": ("right",),
        "padding_side": ("right",),
        "split_special_tokens": (False,),
        "add_bos_token": (False,),
        "add_eos_token": (False,),
    },
    ignored={
        ORIGIN: (
            "backend",
            "is_local",
            "local_files_only",
            "name_or_path",
            "special_tokens_map_file",
            "tokenizer_file",
            "vocab_file",
            "full_tokenizer_file",
            "processor_class",
            "auto_map",
            "legacy",
        ),
        "the vocabulary has BERT's special tokens": SPECIAL_TOKEN_KEYS,
        "decoding of IDs to text only": (
            "clean_up_tokenization_spaces",
            "spaces_between_special_tokens",
        ),
        "each call of this project sets its own": (
            "max_length",
            "stride",
            "truncation_strategy",
            "pad_to_multiple_of",
            "pad_token_type_id",
            "model_input_names",
            "use_fast",
            "chat_template",
            "errors",
            "add_prefix_space",
        ),
    },
)

# tokenizer.json of tokenizers; other objects follow below. With the class BertTokenizer,
# transformers 5 takes only the vocabulary and the added tokens from it.
TOKENIZER = FileKeys(
    followed=("model", "normalizer", "pre_tokenizer", "post_processor", "added_tokens"),
    ignored={
        "each call of this project sets its own": ("truncation", "padding"),
        "decoding of IDs to text only": ("decoder",),
        ORIGIN: ("version",),
    },
)
TOKENIZER_MODEL = FileKeys(
    followed=("vocab",),
    fixed={
        "type": ("WordPiece",),
        "unk_token": ("[UNK]",),
        "continuing_subword_prefix": ("##",),
        # Words of 101 to 200 characters are [UNK] in tokenizers, but not in the original BERT.
        "max_input_chars_per_word": (100, 200),
    },
)
TOKENIZER_NORMALIZER = FileKeys(
    followed=("lowercase", "strip_accents"),
    fixed={
        "type": ("BertNormalizer",),
        "clean_text": (True,),
        "handle_chinese_chars": (True,),
    },
)
TOKENIZER_PRE_TOKENIZER = FileKeys(fixed={"type": ("BertPreTokenizer",)})
TOKENIZER_POST_PROCESSOR = FileKeys(
    followed=("single", "pair", "sep", "cls"),
    fixed={"type": ("TemplateProcessing", "BertProcessing")},
    ignored={"the vocabulary has their IDs": ("special_tokens",)},
)

# special_tokens_map.json of transformers 4, which version 5 does not write.
SPECIAL_TOKENS_MAP = FileKeys(
    followed=("additional_special_tokens",),
    ignored={
        "the vocabulary has BERT's special tokens": SPECIAL_TOKEN_KEYS,
    },
)
