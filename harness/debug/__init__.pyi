from .branches import (
    Branch as Branch,
)
from .branches import (
    listed as listed,
)
from .forks import (
    KEEP as KEEP,
)
from .forks import (
    Point as Point,
)
from .history import (
    History as History,
)
from .history import (
    Moment as Moment,
)
from .loading import load_graph as load_graph
from .session import Debugger as Debugger
from .types import (
    Breakpoint as Breakpoint,
)
from .types import (
    Failure as Failure,
)
from .types import (
    Stop as Stop,
)
from .types import (
    TaskInfo as TaskInfo,
)
