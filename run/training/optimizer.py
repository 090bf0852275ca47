"""Creation of a run's optimizer from its settings."""

from bert_tf import optimization


def make_optimizer(optimizer, step, num_train_steps, num_warmup_steps):
    """Creates the optimizer. Call it in the strategy's scope.

    Args:
      optimizer: OptimizerSettings.
      step: StepSettings. Its precision determines whether the loss is scaled.
      num_train_steps: int. Step at which the learning rate reaches 0.
      num_warmup_steps: int. Number of warm-up steps.
    """
    return optimization.create_optimizer(
        optimizer.learning_rate, num_train_steps, num_warmup_steps, optimizer.optimizer,
        decay_power=optimizer.decay_power, weight_decay=optimizer.weight_decay_rate, clip_norm=optimizer.clip_norm,
        no_decay=optimizer.no_weight_decay,
        beta_1=optimizer.beta_1, beta_2=optimizer.beta_2, epsilon=optimizer.epsilon,
        scale_loss=step.mixed_precision == "float16")
