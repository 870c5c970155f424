"""The report, which explains the design of a network and the reasons for it.

``topology.picture.topology_svg`` draws the fabrics. ``page.report_html`` writes a self-contained page with the picture, the
findings, the decisions with their arithmetic, the cabling, addresses and the bill of materials. The page gets the findings and
sections as input. Neither function makes decisions, and the same input gives an identical result.
"""
