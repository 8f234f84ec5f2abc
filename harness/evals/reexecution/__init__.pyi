from .execution import (
    Execution as Execution,
)
from .execution import (
    execute as execute,
)
from .plan import (
    RunPlan as RunPlan,
)
from .plan import (
    plan_run as plan_run,
)
from .reexecute import reexecute as reexecute
from .table import format_table as format_table
from .types import (
    Recalculation as Recalculation,
)
from .types import (
    ReexecutionReport as ReexecutionReport,
)
from .types import (
    RunResult as RunResult,
)
