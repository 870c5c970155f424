"""The picture of a network as SVG: small fabrics device by device (``detail``), large ones as blocks (``picture``)."""
