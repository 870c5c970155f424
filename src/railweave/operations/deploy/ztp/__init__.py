"""Zero-touch first boot of new switches: DHCP configurations by serial number, the files that switches fetch, and a web server to try a first boot."""
