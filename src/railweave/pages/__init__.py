"""Pages: the parts that pages and tables are made of.

``markup`` escapes and writes elements, ``shell`` is a page around its content, ``charts`` draws lines, bars and heat maps as SVG,
``palette`` gives colors their shades, ``terms`` explains the words that a page uses. This room takes texts and numbers, gives HTML
and CSS, and knows no networks: it imports no other room.

Imports: no other wing.
"""
