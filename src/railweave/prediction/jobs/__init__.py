"""Training jobs: what a step computes and what it sends, by formula, and when each part of it can run.

``transformer`` has the model, ``layout`` the ranks and their groups, ``kernels`` how long GPUs compute, ``traffic`` what is sent,
``pipeline`` the order of micro-batches, ``build`` the graph of a step, ``run`` its time. Nothing here knows of networks: how long a communication
takes, and how several share links, is asked of ``run.Network``.
"""
