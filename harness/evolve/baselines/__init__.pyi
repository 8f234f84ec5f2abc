from .run import (
    make as make,
)
from .run import (
    run_baselines as run_baselines,
)
from .types import (
    NAMES as NAMES,
)
from .types import (
    Baseline as Baseline,
)
from .types import (
    BaselineName as BaselineName,
)
from .types import (
    BaselineRow as BaselineRow,
)
from .types import (
    Ground as Ground,
)
