"""Running configurations as others write them: of a generator, and by hand. Names and numbers are ours."""

GENERATED_LEAF = """\
!RANCID-CONTENT-TYPE: arista
!
no enable password
no aaa root
!
username admin privilege 15 role network-admin nopassword
username ops privilege 15 role network-admin secret sha512 $6$saltsalt$hashhashhash
!
daemon TerminAttr
   exec /usr/bin/TerminAttr -cvaddr=192.0.2.9:9910 -cvauth=key,hushhush -cvvrf=MGMT
   no shutdown
!
vlan internal order ascending range 1006 1199
!
transceiver qsfp default-mode 4x10G
!
service routing protocols model multi-agent
!
hostname pod1-leaf1a
!
spanning-tree mode mstp
no spanning-tree vlan-id 4093-4094
!
vlan 11-12
   name APP
!
vlan 4093
   name MLAG_L3
   trunk group MLAG
!
vrf instance APP
   description tenant of applications
!
vrf instance MGMT
!
management api http-commands
   protocol https
   no shutdown
   !
   vrf MGMT
      no shutdown
!
interface Port-Channel5
   description PortChannel server1
   no shutdown
   switchport access vlan 11
   switchport mode access
   switchport
   mlag 5
!
interface Port-Channel47
   description MLAG_pod1-leaf1b
   switchport mode trunk
   switchport trunk group MLAG
   switchport
!
interface Ethernet1
   description P2P_pod1-spine1_Ethernet4
   no shutdown
   mtu 9214
   no switchport
   ip address 10.9.0.1/31
!
interface Ethernet2
   description P2P_pod1-spine2_Ethernet4
   no shutdown
   mtu 9214
   no switchport
   ip address 10.9.0.3/31
!
interface Ethernet5
   description SERVER_server1_eth0
   no shutdown
   channel-group 5 mode active
!
interface Ethernet6
!
interface Ethernet47
   description MLAG_pod1-leaf1b_Ethernet47
   channel-group 47 mode active
!
interface Loopback0
   description ROUTER_ID
   no shutdown
   ip address 10.8.0.3/32
!
interface Loopback1
   description VTEP
   no shutdown
   ip address 10.8.1.3/32
!
interface Management1
   description OOB
   vrf MGMT
   ip address 192.0.2.21/24
!
interface Vlan11
   description APP_SVI
   no shutdown
   vrf APP
   ip address virtual 172.30.11.1/24
!
interface Vlan4093
   description MLAG_L3
   mtu 9214
   no autostate
   ip address 10.7.0.0/31
!
interface Vxlan1
   description pod1-leaf1a_VTEP
   vxlan source-interface Loopback1
   vxlan virtual-router encapsulation mac-address mlag-system-id
   vxlan udp-port 4789
   vxlan vlan 11-12 vni 10011-10012
   vxlan vrf APP vni 500
!
ip virtual-router mac-address 00:1c:73:00:00:77
!
ip routing
no ip routing vrf MGMT
ip routing vrf APP
!
ip prefix-list PL-LOOPBACKS
   seq 10 permit 10.8.0.0/27 eq 32
   seq 20 permit 10.8.1.0/27 eq 32
!
mlag configuration
   domain-id pod1-leaf1
   local-interface Vlan4094
   peer-address 10.7.1.1
   peer-link Port-Channel47
   reload-delay mlag 300
!
ip route vrf MGMT 0.0.0.0/0 192.0.2.1
!
ntp server vrf MGMT 192.0.2.5 prefer
!
route-map RM-CONN-2-BGP permit 10
   match ip address prefix-list PL-LOOPBACKS
!
router bfd
   multihop interval 700 min-rx 700 multiplier 4
!
router bgp 65101
   router-id 10.8.0.3
   update wait-install
   no bgp default ipv4-unicast
   maximum-paths 4 ecmp 4
   neighbor EVPN-PEERS peer group
   neighbor EVPN-PEERS update-source Loopback0
   neighbor EVPN-PEERS bfd
   neighbor EVPN-PEERS ebgp-multihop 3
   neighbor EVPN-PEERS password 7 AQQvKeimxJu+uGQ/yYvvNw==
   neighbor EVPN-PEERS send-community
   neighbor EVPN-PEERS maximum-routes 0
   neighbor UNDERLAY-PEERS peer group
   neighbor UNDERLAY-PEERS remote-as 65100
   neighbor UNDERLAY-PEERS password 7 7x4B4rnJhZB438m9+BrBfQ==
   neighbor UNDERLAY-PEERS send-community
   neighbor UNDERLAY-PEERS maximum-routes 12000
   neighbor 10.8.0.1 peer group EVPN-PEERS
   neighbor 10.8.0.1 remote-as 65100
   neighbor 10.8.0.1 description pod1-spine1_Loopback0
   neighbor 10.9.0.0 peer group UNDERLAY-PEERS
   neighbor 10.9.0.0 description pod1-spine1_Ethernet4
   neighbor 10.9.0.2 peer group UNDERLAY-PEERS
   neighbor 10.9.0.2 remote-as 65199
   neighbor 10.9.0.2 description pod1-spine2_Ethernet4
   redistribute connected route-map RM-CONN-2-BGP
   !
   vlan 11
      rd 10.8.0.3:10011
      route-target both 10011:10011
      redistribute learned
   !
   vlan 12
      rd 10.8.0.3:10012
      route-target both 10012:10012
      redistribute learned
   !
   address-family evpn
      neighbor EVPN-PEERS activate
   !
   address-family ipv4
      no neighbor EVPN-PEERS activate
      neighbor UNDERLAY-PEERS activate
   !
   vrf APP
      rd 10.8.0.3:500
      route-target import evpn 500:500
      route-target export evpn 500:500
      router-id 10.8.0.3
      redistribute connected
!
end
"""
"""A leaf in the style of a generator: peer groups, link aggregation, a pair of leaves, gateways that all leaves share."""

SHOWN_SPINE = """\
spine1#show running-config
! Command: show running-config
! device: spine1 (cEOSLab, EOS-4.32.0F-36401836.4320F (engineering build))
!
no aaa root
!
management api http-commands
   no shutdown
!
transceiver qsfp default-mode 4x10G
!
service routing protocols model multi-agent
!
hostname spine1
!
spanning-tree mode mstp
!
system l1
   unsupported speed action error
   unsupported error-correction action error
!
interface Ethernet1-2
   mtu 9214
   no switchport
!
interface Ethernet1
   description leaf1 Ethernet11
   ip address 10.0.1.0/31
!
interface Ethernet2
   description leaf2 Ethernet11
   ip address 10.0.1.2/31
!
interface Loopback0
   ip address 10.0.250.1/32
!
interface Management0
   ip address 172.20.20.2/24
!
ip routing
!
ip route 0.0.0.0/0 172.20.20.1
!
peer-filter LEAVES
   10 match as-range 65001-65999 result accept
!
router bgp 65000
   router-id 10.0.250.1
   maximum-paths 4 ecmp 64
   bgp listen range 10.0.1.0/24 peer-group LEAVES peer-filter LEAVES
   neighbor LEAVES peer group
   neighbor LEAVES send-community
   neighbor EVPN peer group
   neighbor EVPN next-hop-unchanged
   neighbor EVPN update-source Loopback0
   neighbor EVPN ebgp-multihop 3
   neighbor EVPN send-community extended
   neighbor EVPN maximum-routes 12000 warning-only
   neighbor 10.0.250.11 peer group EVPN
   neighbor 10.0.250.11 remote-as 65001
   neighbor 10.0.250.12 peer group EVPN
   neighbor 10.0.250.12 remote-as 65002
   !
   address-family evpn
      neighbor EVPN activate
   !
   address-family ipv4
      no neighbor EVPN activate
      network 10.0.250.1/32
!
end
spine1#
"""
"""A spine of a lab, as a terminal shows it: with the command, the head and the prompt."""
