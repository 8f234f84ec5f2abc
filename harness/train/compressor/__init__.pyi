from .session import Manifest as Manifest
from .session import Report as Report
from .session import TrainOptions as TrainOptions
from .session import install as install
from .session import train as train
