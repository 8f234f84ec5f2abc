from .compressing import Compressed as Compressed
from .compressing import Compressions as Compressions
from .compressing import Settings as Settings
from .compressing import parse_settings as parse_settings
from .shortened import Context as Context
from .shortened import ShortenedExchange as ShortenedExchange
