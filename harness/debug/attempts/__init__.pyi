from .answers import Answers as Answers
from .items import Finished as Finished
from .items import Settings as Settings
from .items import find_item as find_item
from .items import open_item as open_item
from .own_graphs import ask_model as ask_model
from .own_graphs import is_own_graph as is_own_graph
from .own_graphs import open_own_graph as open_own_graph
