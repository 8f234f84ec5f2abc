from .roles import parts as parts
from .roles import share_of as share_of
from .rows import Item as Item
from .rows import items_of as items_of
from .verdicts import alike as alike
from .verdicts import judge as judge
from .verdicts import judge_value as judge_value
