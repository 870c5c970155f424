"""What ranks of a real run, or of another simulator, compute and send: execution traces in and out.

``trace`` has the value that every reader gives, ``chakra_read`` and ``chakra_write`` the files of MLCommons Chakra with the messages of
``chakra_messages``, ``process_groups`` which ranks form a group, ``matching`` which nodes of several ranks are one communication, ``alike`` which ranks do
the same, ``graph`` the operations that ``prediction.jobs.run`` takes, ``traced`` the job that they are.
"""
