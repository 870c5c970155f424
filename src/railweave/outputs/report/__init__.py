"""Report: what a designed network looks like and why, for people to read.

``topology.picture.topology_svg`` draws the fabrics, ``page.report_html`` puts the picture, the findings, the decisions with
their arithmetic, the cabling, addresses and the bill of materials on one self-contained page. Both read a
``Network``, decide nothing, reach for nothing outside of it and the catalog, and give the same bytes for the same
network.
"""
