"""What switches, hosts and protocols can hold, and what a design asks of them."""
