"""Zero-touch first boot of new switches: DHCP answers by serial number, the files that switches fetch, and a trial web server."""
