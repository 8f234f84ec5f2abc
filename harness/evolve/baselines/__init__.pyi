from .run import (
    NAMES as NAMES,
)
from .run import (
    Baseline as Baseline,
)
from .run import (
    BaselineRow as BaselineRow,
)
from .run import (
    Ground as Ground,
)
from .run import (
    make as make,
)
from .run import (
    run_baselines as run_baselines,
)
