from .backend import LocalModel as LocalModel
from .backend import app as app
from .backend import backend as backend
from .backend import endpoint as endpoint
from .backend import is_folder as is_folder
from .process import Launch as Launch
from .shared import SharedEngine as SharedEngine
from .shared import launch_settings as launch_settings
