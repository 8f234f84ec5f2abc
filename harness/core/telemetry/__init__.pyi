from .logs import LogWatcher as LogWatcher
from .logs import log_watcher as log_watcher
from .metrics import MetricsWatcher as MetricsWatcher
from .setup import spans_asked as spans_asked
from .setup import telemetry as telemetry
from .setup import telemetry_by_variables as telemetry_by_variables
from .spans import CAPTURE_VARIABLE as CAPTURE_VARIABLE
from .spans import SpanWatcher as SpanWatcher
