from .base import (
    Found as Found,
)
from .base import (
    Store as Store,
)
from .base import (
    StoreIndex as StoreIndex,
)
from .base import (
    TermCounts as TermCounts,
)
from .lance import open_lance as open_lance
from .qdrant import open_qdrant as open_qdrant
