from .files import MAX_BYTES as MAX_BYTES
from .files import Parsed as Parsed
from .files import ParseOptions as ParseOptions
from .files import PassedOver as PassedOver
from .files import parse_bytes as parse_bytes
from .files import parse_file as parse_file
from .files import parse_paths as parse_paths
