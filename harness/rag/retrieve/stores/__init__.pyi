from .base import StoreIndex as StoreIndex
from .qdrant import open_qdrant as open_qdrant
