from .engine import Engine as Engine
from .engine import Job as Job
from .engine import Progress as Progress
from .native import Settings as Settings
from .native import Text as Text
from .server import app as app
from .server import endpoint as endpoint
from .server import shared_engine as shared_engine
