from .answers import Answers as Answers
from .items import Finished as Finished
from .items import Settings as Settings
from .items import find_item as find_item
from .items import open_item as open_item
