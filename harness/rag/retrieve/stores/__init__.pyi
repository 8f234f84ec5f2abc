from .base import StoreIndex as StoreIndex
from .lance import open_lance as open_lance
from .qdrant import open_qdrant as open_qdrant
