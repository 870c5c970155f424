"""Statements with secrets, as operators have them in the configurations of each system; ``{}`` stands where a secret does."""

EOS = """
enable password sha512 $6$salt${}
enable password 5 $1$x${}
username admin privilege 15 role network-admin secret sha512 $6$ab${}
username a secret 0 {}
username b secret {}
username c secret 5 $1$ab${} ssh-key ssh-rsa AAAAB3Nza
username password secret {}
aaa root secret sha512 $6$ab${}
snmp-server community {} ro
snmp-server community {} view v ro SNMP-CLIENTS
snmp-server host 10.0.0.1 version 2c {}
snmp-server host 10.0.0.2 vrf MGMT traps version 2c {} udp-port 162
snmp-server host 10.0.0.3 informs version 1 {}
snmp-server host 10.0.0.4 vrf MGMT {}
snmp-server user u g v3 auth sha {} priv aes {}
snmp-server user v g v3 localized f5717f001c730a auth sha256 {} priv aes256 {}
tacacs-server key 7 {}
tacacs-server key 8a {}
tacacs-server key {}
tacacs-server host 10.1.1.1 vrf MGMT port 50 timeout 5 key 7 {}
tacacs-server host 10.1.1.2 key 7 {} port 49
radius-server host 1.1.1.1 auth-port 1812 acct-port 1813 key 0 {}
radius-server key {}
ntp authentication-key 1 md5 7 {}
ntp authentication-key 2 md5 {}
ntp authentication-key 10 sha1 8a {}
interface Loopback77
   ip ospf authentication-key 7 {}
   ip ospf message-digest-key 1 md5 7 {}
   ip ospf message-digest-key 1 sha512 0 {}
   isis authentication key 7 {}
   isis authentication key 0 {} level-2
   isis authentication key {}
   isis authentication key-id 1 algorithm sha-256 key 7 {}
   vrrp 1 authentication text {}
   vrrp 1 peer authentication ietf-md5 key-string 7 {}
   ospfv3 authentication ipsec spi 33 md5 passphrase 7 {}
   ospfv3 ipv6 authentication ipsec spi 33 sha1 0 {}
router isis seventy
   authentication key 7 {}
mac security
   profile p
      key 0123abcd 7 {}
      key 0123abce 7 {} fallback
management security
   session shared-secret profile seventy
      secret 0 7 {} receive-lifetime infinite transmit-lifetime infinite
daemon TerminAttr
   exec /usr/bin/TerminAttr -cvaddr=192.0.2.1:9910 -cvauth=key,{} -taillogs
daemon Other
   exec /usr/bin/x --password={} --token {}
event-handler x
   action bash curl -H "Authorization: Bearer {}" https://u:{}@h/x
email
   auth username u password 7 {}
boot secret sha512 $6$a${}
"""

FRR = """
password {}
enable password 8 {}
router bgp 65077 vrf seventy
 neighbor 10.0.0.77 password {}
 neighbor 10.0.0.78 password first {} last
interface eth77
 ip ospf authentication-key {}
 ip ospf message-digest-key 1 md5 {}
 isis password clear {}
 isis password md5 {}
 ip rip authentication string {}
 ip nhrp authentication {}
 ipv6 ospf6 authentication key-id 1 hash-algo md5 key {}
router isis seventy
 area-password md5 {}
 domain-password clear {} authenticate snp validate
key chain x
 key 1
  key-string {}
mpls ldp
 neighbor 1.1.1.1 password {}
"""

DELL = """
username admin password {} role admin
username b password $6$ab${} role admin
tacacs-server key {} encrypted
tacacs-server host 10.0.0.1 timeout 5 key {} encrypted vrf mgmt
radius-server host 10.0.0.1 auth-port 1 key {} vrf mgmt
radius-server key {}
snmp-server community {} group x
snmp-server host 10.0.0.1 community {} traps v2c
snmp-server user u group g auth sha auth-password {} priv aes-128 priv-password {}
router bgp 65077 vrf Vrf_seventy
 neighbor 10.0.0.77
  password {} encrypted
interface Loopback 77
 ip ospf authentication-key {} encrypted
 ip ospf message-digest-key 1 md5 {}
ntp authentication-key 1 md5 {} encrypted
ldap-server bindpw {} encrypted
"""

JUNOS = """
set system root-authentication encrypted-password "$6$a${}"
set system login user x authentication encrypted-password $1$a${}
set system tacplus-server 10.0.0.1 secret "$9${}"
set system radius-server 10.0.0.1 port 1812 secret {} timeout 3
set system radius-server 10.0.0.2 preauthentication-secret {}
set system ntp authentication-key 1 type md5 value "{}"
set system ntp authentication-key 2 value {} type md5
set system license keys key "JUNOS1 {}"
set system archival configuration archive-sites "scp://u:{}@h/x" password "$9${}"
set snmp community {} authorization read-only
set snmp trap-group {} targets 10.0.0.1
set snmp v3 usm local-engine user u authentication-sha256 authentication-password {}
set snmp v3 usm local-engine user v authentication-sha256 authentication-key "$9${}"
set snmp v3 usm local-engine user v privacy-aes128 privacy-key {}
set snmp v3 snmp-community x community-name {}
set protocols bgp group seventy authentication-key "$9${}"
set protocols bgp group seventy neighbor 192.0.2.1 authentication-key {}
set protocols isis level 2 authentication-key {}
set protocols isis interface lo0.77 level 1 hello-authentication-key "$9${}"
set protocols ospf area 0 interface x authentication md5 1 key "{}"
set protocols ospf area 0 interface y authentication simple-password {}
set interfaces x unit 0 family inet address 10.0.0.1/24 vrrp-group 1 authentication-key {}
set security authentication-key-chains key-chain k key 0 secret {}
set security macsec connectivity-association c pre-shared-key cak {}
set security ike policy p pre-shared-key ascii-text {}
set security ike policy q pre-shared-key hexadecimal {}
set security certificates local x "{}"
set security certificates local y "-----BEGIN RSA PRIVATE KEY-----\\n{}\\n-----END RSA PRIVATE KEY-----\\n"
set vendor statement nobody knows {} ## SECRET-DATA
"""

SONIC = {
    "SNMP_COMMUNITY": {"{}": {"TYPE": "RO"}},
    "SNMP_USER": {"u": {"SNMP_USER_AUTH_PASSWORD": "{}", "SNMP_USER_ENCRYPTION_PASSWORD": "{}"}},
    "SNMP_TRAP_CONFIG": {"v2TrapDest": {"DestIp": "192.0.2.1", "DestPort": "162", "Community": "{}"}},
    "BGP_NEIGHBOR": {"default|192.0.2.77": {"auth_password": "{}", "asn": "1"}},
    "BGP_PEER_GROUP": {"default|seventy": {"auth_password": "{}"}},
    "TACPLUS": {"global": {"passkey": "{}", "auth_type": "login"}},
    "TACPLUS_SERVER": {"192.0.2.1": {"passkey": "{}", "tcp_port": "49"}},
    "RADIUS": {"global": {"passkey": "{}"}},
    "RADIUS_SERVER": {"192.0.2.1": {"passkey": "{}"}},
    "LDAP": {"global": {"bind_password": "{}"}},
    "NTP_KEY": {"1": {"type": "md5", "value": "{}", "trusted": "yes"}},
    "MACSEC_PROFILE": {"x": {"primary_cak": "{}", "primary_ckn": "50", "fallback_cak": "{}"}},
    "RESTAPI": {"config": {"token": "{}", "client_auth": "true"}},
    "USER": {"x": {"password": "{}", "password_hash": "$6$a${}", "role": "x"}},
    "VENDOR": {
        "x": {"private_key": "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", "ospf-auth-key": "{}"}
    },
}
