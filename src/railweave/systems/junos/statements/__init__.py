"""Statement tables of Junos, one for each subject. Each row is used to print, to read and to explain a statement (``systems.junos.table``)."""
