from .ladder import (
    PREFERRED as PREFERRED,
)
from .ladder import (
    RungReport as RungReport,
)
from .ladder import (
    ladder as ladder,
)
from .ladder import (
    preferred as preferred,
)
from .ladder import (
    select as select,
)
from .types import (
    LimitHit as LimitHit,
)
from .types import (
    Limits as Limits,
)
from .types import (
    Result as Result,
)
from .types import (
    Sandbox as Sandbox,
)
from .types import (
    SandboxUnavailable as SandboxUnavailable,
)
