"""Training jobs: what a step computes and what it sends, by formula, and when each part of it can run.

``plan`` has the job with its ranks and their groups, ``kernels`` the model and how long GPUs compute, ``graph`` the parts of a step,
``build`` the graph of a step with what is sent and the order of micro-batches, ``run`` its time. Nothing here knows of networks: how long a communication
takes, and how several share links, is asked of ``run.Network``.
"""
