from .context import (
    Settings as Settings,
)
from .context import (
    parse_settings as parse_settings,
)
from .recording import Recording as Recording
from .serve import shortening as shortening
from .session import (
    Plan as Plan,
)
from .session import (
    Report as Report,
)
from .session import (
    run as run,
)
from .upstream import (
    Upstream as Upstream,
)
from .upstream import (
    find_upstream as find_upstream,
)
