from .table import FORMATS as FORMATS
from .table import Format as Format
from .table import detect_format as detect_format
from .table import find_trajectory as find_trajectory
from .table import formats as formats
from .table import open_trajectories as open_trajectories
