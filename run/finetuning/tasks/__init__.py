"""The fine-tuning tasks, a module each, by the kind that task.json names."""

from run.finetuning.tasks.classification import Classification
from run.finetuning.tasks.multiple_choice import MultipleChoice
from run.finetuning.tasks.question_answering import QuestionAnswering
from run.finetuning.tasks.tagging import Tagging

TASKS = {task.kind: task for task in (Classification, Tagging, QuestionAnswering, MultipleChoice)}

__all__ = ["TASKS", "Classification", "MultipleChoice", "QuestionAnswering", "Tagging"]
