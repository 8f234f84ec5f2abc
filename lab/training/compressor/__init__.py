"""Training of the shipped token critic (QwenLong-CPRS, section 2.2, on a small sentence encoder).

python -m lab.training.compressor --data extracts/ --out critic/
"""
