"""The report, which shows people the design of a network and the reasons for it.

``topology.picture.topology_svg`` draws the fabrics. ``page.report_html`` puts the picture, the findings, the decisions with their
arithmetic, the cabling, addresses and the bill of materials on one self-contained page; it gets the findings and sections as input. Both
make no decisions, and give the same bytes for the same input.
"""
