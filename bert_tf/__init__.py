"""BERT on TensorFlow 2: encoder, task models, tokenizer, losses, optimizer, checkpoints, export.

    import bert_tf

    model = bert_tf.load("mrpc")
    print(model.rows(text_a=["It rains."], text_b=["It is raining."]))
"""


def load(place, **options):
    """Loads a model that answers raw text.

    Args:
      place: str. Local or remote (gs://): the directory or prefix of a checkpoint of this project, the original BERT,
        Hugging Face, or the Model Garden; a SavedModel that export_saved_model wrote, with or without its version
        (defaults to the latest); or a .tflite file that it wrote, which does not require TensorFlow.
      **options: For checkpoints: `task`, `max_seq_length`, `top_k`, `pairs`, `labels_file`, and so on, named and
        checked like the flags of run.predict. If neither `task` nor the directory states the kind of task, it is
        "masked_lm" for a checkpoint with the weights of that head, else "encoder".

    Returns:
      bert_tf.serving.LoadedModel:
        model(text_a=[...], text_b=[...]): dict of arrays, the outputs of the signature serving_default;
        model.rows(text_a=[...], text_b=[...]): list of dicts, the JSON objects of run.predict;
        model.encode([...]): embeddings, float32 [N, hidden_size];
        model.kind, model.inputs, model.labels, model.limit.

    Raises:
      bert_tf.errors.InputError: If there is no model, if it is corrupted, or if an option cannot be used with it.
    """
    from bert_tf import serving  # It imports NumPy and more; this keeps `import bert_tf` fast.

    return serving.load(place, **options)
