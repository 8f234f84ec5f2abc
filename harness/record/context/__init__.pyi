from .compressing import (
    Compressions as Compressions,
)
from .compressing import (
    Kept as Kept,
)
from .compressing import (
    Settings as Settings,
)
from .compressing import (
    parse_settings as parse_settings,
)
from .sitting import (
    Context as Context,
)
from .sitting import (
    Sitting as Sitting,
)
