from .base import Index as Index
from .base import Store as Store
from .base import StoredChunk as StoredChunk
from .base import StoreIndex as StoreIndex
from .base import TermCounts as TermCounts
from .lance import open_lance as open_lance
from .qdrant import open_qdrant as open_qdrant
