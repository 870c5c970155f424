"""First boot of new switches: what DHCP tells each by its serial number, the files it fetches, and a server to try it."""
