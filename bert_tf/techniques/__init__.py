"""Training techniques that attach to a model: LoRA, freezing, masks, int8, sparsity, distillation, BERT-of-Theseus."""
