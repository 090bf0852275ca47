"""Names and shapes of the variables of a BERT, as in the original's checkpoints."""

WORD_EMBEDDINGS = "bert/embeddings/word_embeddings"
POSITION_EMBEDDINGS = "bert/embeddings/position_embeddings"
TOKEN_TYPE_EMBEDDINGS = "bert/embeddings/token_type_embeddings"
# The matrix [E, H] of factorized word embeddings, and the bias if the sum is projected.
EMBEDDING_PROJECTION = "bert/embeddings/embedding_projection"
EMBEDDING_PROJECTION_BIAS = "bert/embeddings/embedding_projection_bias"
POOLER = "bert/pooler/"  # Prefix of the names of its variables, which some checkpoints lack.
OUTPUT_BIAS = "cls/predictions/output_bias"  # One number per token of the vocabulary.
# The matrix [V, H] of a masked LM that does not score with the word embeddings.
OUTPUT_MATRIX = "cls/predictions/output_weights"
NEXT_SENTENCE = "cls/seq_relationship/"


def original_names(name):
    """Returns the names of the original's variables for a variable of this project.

    Concatenated in this order on the last axis, they are this project's variable.
    """
    scope, separator, leaf = name.rpartition("qkv/")
    if not separator:
        return [name]
    return [f"{scope}{part}/{leaf}" for part in ("query", "key", "value")]


def get_shapes(config):
    """Returns the shapes of the variables of a BertEncoder.

    Args:
      config: BertConfig.

    Returns:
      Dict of the original's name to shape, a list of int.
    """
    width = config.hidden_size
    shapes = {
        WORD_EMBEDDINGS: [config.vocab_size, config.embedding_size or width],
        POSITION_EMBEDDINGS: [config.max_position_embeddings, config.embedding_width],
        **_layer_norm("bert/embeddings", config.embedding_width),
    }
    if config.type_vocab_size:
        shapes[TOKEN_TYPE_EMBEDDINGS] = [config.type_vocab_size, config.embedding_width]
    if config.embedding_size:
        shapes[EMBEDDING_PROJECTION] = [config.embedding_size, width]
    if config.project_embedding_sum:
        shapes[EMBEDDING_PROJECTION_BIAS] = [width]
    for number, (heads, inner) in enumerate(config.layer_sizes[: config.num_hidden_groups]):
        layer = f"bert/encoder/layer_{number}"
        context = heads * config.head_width
        for part in ("query", "key", "value"):
            shapes |= _dense(f"{layer}/attention/self/{part}", width, context)
        shapes |= _dense(f"{layer}/attention/output/dense", context, width)
        shapes |= _layer_norm(f"{layer}/attention/output", width)
        shapes |= _dense(f"{layer}/intermediate/dense", width, inner)
        shapes |= _dense(f"{layer}/output/dense", inner, width)
        shapes |= _layer_norm(f"{layer}/output", width)
    return shapes | _dense(f"{POOLER}dense", width, width)


def _dense(name, inputs, outputs):
    return {f"{name}/kernel": [inputs, outputs], f"{name}/bias": [outputs]}


def _layer_norm(scope, width):
    return {f"{scope}/LayerNorm/gamma": [width], f"{scope}/LayerNorm/beta": [width]}
