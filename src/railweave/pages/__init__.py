"""The building blocks of pages and tables.

Input: texts and numbers; these modules do not depend on the network model. Output: HTML, SVG and CSS.

- ``table``: a table as text, HTML, CSV, JSON and Markdown.
- ``shell``: the frame of a page, and the functions that escape texts and write elements.
- ``charts``: lines, bars and heat maps as SVG.
- ``palette``: the shades of path colors.
- ``terms``: explanations of the terms that a page uses.
- ``page.css``, ``prediction.css``: the style sheets.

Imports: no other top-level package of railweave.
"""
