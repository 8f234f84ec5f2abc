"""The longdoc family: a question over long documents, each a text file in the work folder."""

from __future__ import annotations

from harness.core import Task
from harness.rag.tasks.reading import metric_of
from harness.rag.tasks.search import SearchFamily


class LongDocFamily(SearchFamily):
    """Judges as the search family does; choices are listed under the question."""

    name = "longdoc"

    def question(self, task: Task) -> str:
        """The prompt and, of a multiple choice, the choices with their letters."""
        choices = task.meta.get("choices", {})
        if not isinstance(choices, dict) or metric_of(task) == "classes":
            return task.prompt
        listed = [f"{letter}. {text}" for letter, text in choices.items() if text]
        return "\n".join([task.prompt, *listed])
