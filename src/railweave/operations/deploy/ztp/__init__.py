"""First boot of new switches: the DHCP answers by serial number, the files that switches fetch, and a server to try it."""
