"""The building blocks of pages and tables.

``markup`` escapes texts and writes elements, ``shell`` is the frame of a page, ``charts`` draws lines, bars and heat maps as SVG,
``palette`` gives colors their shades, ``terms`` explains the words that a page uses. ``page.css`` and
``prediction.css`` style them.

Takes: texts and numbers, no networks.
Gives: HTML, SVG and CSS.

Imports: no other wing.
"""
