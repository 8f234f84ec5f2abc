from .database import Moment as Moment
from .database import Write as Write
from .database import split_ns as split_ns
from .store import CheckpointStore as CheckpointStore
from .store import config_at as config_at
from .store import open_saver as open_saver
from .store import open_store as open_store
from .values import Ref as Ref
