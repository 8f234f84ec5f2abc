from .detect import (
    Checkable as Checkable,
)
from .detect import (
    checkable as checkable,
)
from .detect import (
    coverage as coverage,
)
from .extract import extract as extract
from .names import names as names
from .questions import question_for as question_for
