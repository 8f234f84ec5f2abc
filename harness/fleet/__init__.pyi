from .bulk import answers as answers
from .executors import LocalExecutor as LocalExecutor
from .executors import RayExecutor as RayExecutor
from .executors import local as local
from .executors import open_ray as open_ray
from .trees import Tree as Tree
from .workers import Ask as Ask
from .workers import WorkersLost as WorkersLost
