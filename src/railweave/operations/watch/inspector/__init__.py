"""NCCL Inspector's records of running jobs: a folder that is followed, and its communicators beside the design."""
