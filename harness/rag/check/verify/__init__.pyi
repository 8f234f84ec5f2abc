from .verifier import TrainedVerifier as TrainedVerifier
