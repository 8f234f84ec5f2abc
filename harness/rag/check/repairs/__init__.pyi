from .loop import (
    ROUNDS as ROUNDS,
)
from .loop import (
    Check as Check,
)
from .loop import (
    repair as repair,
)
from .running import repair_answer as repair_answer
from .types import (
    Edit as Edit,
)
from .types import (
    Repair as Repair,
)
