from .reexecute import plan_run as plan_run
from .reexecute import reexecute as reexecute
from .report import Recalculation as Recalculation
from .report import ReexecutionReport as ReexecutionReport
from .report import RunResult as RunResult
from .report import format_table as format_table
