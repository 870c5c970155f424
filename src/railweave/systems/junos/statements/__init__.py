"""Statement tables of Junos, one for each subject. Each row prints, reads and explains a statement (``systems.junos.table``)."""
