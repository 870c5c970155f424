"""The building blocks of pages and tables.

``markup`` escapes texts and writes elements, ``shell`` is the frame of a page, ``charts`` draws lines, bars and heat maps as SVG,
``palette`` chooses the shades of path colors, ``terms`` explains the terms that a page uses. ``page.css`` and ``prediction.css``
are the style sheets.

Takes: texts and numbers, no networks.

Gives: HTML, SVG and CSS.

Imports: no other wing.
"""
