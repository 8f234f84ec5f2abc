from .store import CheckpointStore as CheckpointStore
from .store import open_saver as open_saver
from .store import open_store as open_store
from .values import Ref as Ref
