"""What a Junos Evolved switch answers, invented in the forms of Juniper's published models and of NAPALM's and SuzieQ's data."""

from __future__ import annotations

import json


def reply(body: str) -> str:
    """An answer as ``| display xml`` has it: in an envelope, with namespaces that change with the release, and a prompt after it."""
    return (
        '<rpc-reply xmlns:junos="http://xml.juniper.net/junos/24.4R1/junos">\n'
        f"{body}\n<cli><banner>{{master}}</banner></cli></rpc-reply>\n"
    )


ANSWERS: dict[str, str] = {
    "version": reply(
        "<software-information><host-name>stripe1-leaf1</host-name><product-model>qfx5240-64od</product-model>"
        "<junos-version>24.4R1.9-EVO</junos-version></software-information>"
    ),
    "system": reply(
        "<multi-routing-engine-results><multi-routing-engine-item><system-information>"
        "<hardware-model>qfx5240-64od</hardware-model><os-name>junos-evo</os-name><os-version>24.4R1.9-EVO</os-version>"
        "<serial-number>AB123</serial-number><host-name>stripe1-leaf1</host-name>"
        "</system-information></multi-routing-engine-item></multi-routing-engine-results>"
    ),
    "hardware": reply(
        '<chassis-inventory xmlns="http://xml.juniper.net/junos/24.4R1/junos-chassis"><chassis><name>Chassis</name>'
        "<serial-number>AB123</serial-number><chassis-module><name>FPC 0</name><chassis-sub-module><name>PIC 0</name>"
        "<chassis-sub-sub-module><name>Xcvr 0</name><serial-number>OPT1</serial-number><description>800G-DR8</description>"
        "<part-number>740-1</part-number></chassis-sub-sub-module></chassis-sub-module></chassis-module></chassis></chassis-inventory>"
    ),
    "uptime": reply(
        '<system-uptime-information><current-time><date-time junos:seconds="1763701000">2025-11-21</date-time></current-time>'
        "<time-source> NTP CLOCK </time-source>"
        '<system-booted-time><date-time junos:seconds="1763700000">2025-11-21</date-time></system-booted-time>'
        "</system-uptime-information>"
    ),
    "alarms": reply(
        "<alarm-information><alarm-summary><active-alarm-count>1</active-alarm-count></alarm-summary><alarm-detail>"
        '<alarm-time junos:seconds="1763700500">2025-11-21</alarm-time><alarm-class>Major</alarm-class>'
        "<alarm-description>PSU 1 Not Powered</alarm-description></alarm-detail></alarm-information>"
    ),
    "alarms-system": reply("<alarm-information/>"),
    "commit": json.dumps(
        {
            "commit-information": [
                {
                    "commit-history": [
                        {
                            "sequence-number": [{"data": "0"}],
                            "date-time": [{"data": "2025-11-21", "attributes": {"junos:seconds": "1763700900"}}],
                            "user": [{"data": "railweave"}],
                            "comment": [{"data": "commit confirmed, rollback in 10mins"}],
                            "configuration-revision": [{"data": "re0-1763700900-41"}],
                        },
                        {"sequence-number": [{"data": "1"}], "user": [{"data": "root"}]},
                    ]
                }
            ]
        }
    ),
    "lldp-neighbors": reply(
        "<lldp-neighbors-information><lldp-neighbor-information><lldp-local-port-id>et-0/0/0:0</lldp-local-port-id>"
        "<lldp-remote-chassis-id>9c:5a:80:00:00:01</lldp-remote-chassis-id>"
        "<lldp-remote-port-id-subtype>Interface name</lldp-remote-port-id-subtype>"
        "<lldp-remote-port-id>et-0/0/4:0</lldp-remote-port-id><lldp-remote-system-name>spine1</lldp-remote-system-name>"
        "</lldp-neighbor-information><lldp-neighbor-information><lldp-local-port-id>667</lldp-local-port-id>"
        "<lldp-local-interface>et-0/0/0:1</lldp-local-interface><lldp-remote-port-id>549</lldp-remote-port-id>"
        "<lldp-remote-port-description>et-0/0/4:1</lldp-remote-port-description>"
        "<lldp-remote-system-name>spine1</lldp-remote-system-name></lldp-neighbor-information></lldp-neighbors-information>"
    ),
    "interfaces": reply(
        '<interface-information xmlns="http://xml.juniper.net/junos/24.4R1/junos-interface"><physical-interface>'
        "<name>et-0/0/0:0</name><admin-status>up</admin-status><oper-status>up</oper-status>"
        "<description>spine1 et-0/0/4:0</description><mtu>9216</mtu><speed>400Gbps</speed>"
        "<ethernet-fec-mode><enabled_fec_mode>FEC119</enabled_fec_mode></ethernet-fec-mode>"
        "<ethernet-fec-statistics><fec_ccw_count>77</fec_ccw_count><fec_nccw_count>0</fec_nccw_count></ethernet-fec-statistics>"
        "<current-physical-address>9c:5a:80:00:00:02</current-physical-address>"
        '<interface-flapped junos:seconds="600">10 minutes ago</interface-flapped>'
        "<input-error-list><input-errors>1</input-errors><input-drops>2</input-drops>"
        "<input-resource-errors>3</input-resource-errors></input-error-list>"
        "<output-error-list><carrier-transitions>5</carrier-transitions><output-errors>0</output-errors>"
        "<output-drops>4</output-drops><mtu-errors>0</mtu-errors><ecn-marked-packets>48211</ecn-marked-packets></output-error-list>"
        "<ethernet-mac-statistics><input-crc-errors>1</input-crc-errors></ethernet-mac-statistics>"
        "<ethernet-mac-pfc-statistics>"
        "<mac-pfc-dot1p>0</mac-pfc-dot1p><input-mac-pfc-frames>0</input-mac-pfc-frames><output-mac-pfc-frames>0</output-mac-pfc-frames>"
        "<mac-pfc-dot1p>3</mac-pfc-dot1p><input-mac-pfc-frames>9</input-mac-pfc-frames><output-mac-pfc-frames>8</output-mac-pfc-frames>"
        "</ethernet-mac-pfc-statistics>"
        "<ethernet-pfcwd-statistics><queue-number>4</queue-number><detected>2</detected><recovered>2</recovered>"
        "<last-count>0</last-count><total-count>11</total-count></ethernet-pfcwd-statistics>"
        "<queue-counters><queue><queue-number>4</queue-number><forwarding-class-name>NO-LOSS</forwarding-class-name>"
        "<queue-counters-trans-packets>918</queue-counters-trans-packets>"
        "<queue-counters-ecn-ce-packets>12</queue-counters-ecn-ce-packets>"
        "<queue-counters-total-drop-packets>0</queue-counters-total-drop-packets></queue></queue-counters>"
        "<logical-interface><name>et-0/0/0:0.0</name><address-family><address-family-name>inet6</address-family-name>"
        "<mtu>9202</mtu><interface-address><ifa-local>fe80::9e5a:80ff:fe00:2</ifa-local></interface-address></address-family>"
        "</logical-interface></physical-interface><physical-interface><name>lo0</name><admin-status>up</admin-status>"
        "<oper-status>up</oper-status><mtu>Unlimited</mtu><speed>Unspecified</speed></physical-interface></interface-information>"
    ),
    "queues": reply(
        "<interface-information><physical-interface><name>et-0/0/0:0</name><queue-counters><queue>"
        "<queue-number>4</queue-number><forwarding-class-name>NO-LOSS</forwarding-class-name>"
        "<queue-counters-depth-peak>81920</queue-counters-depth-peak></queue></queue-counters></physical-interface></interface-information>"
    ),
    "optics": reply(
        "<interface-information><physical-interface><name>et-0/0/0:0</name><optics-diagnostics>"
        "<module-temperature>33 degrees C / 92 degrees F</module-temperature><module-voltage>3.3120 V</module-voltage>"
        "<optics-diagnostics-lane-values><lane-index>0</lane-index><laser-bias-current>60.5 mA</laser-bias-current>"
        "<laser-output-power-dbm>1.20</laser-output-power-dbm><laser-rx-optical-power-dbm>- Inf</laser-rx-optical-power-dbm>"
        "<laser-rx-power-low-alarm>on</laser-rx-power-low-alarm></optics-diagnostics-lane-values>"
        "<laser-rx-power-low-alarm-threshold-dbm>-9.40</laser-rx-power-low-alarm-threshold-dbm>"
        "</optics-diagnostics></physical-interface></interface-information>"
    ),
    "neighbors": reply(
        "<ipv6-nd-information><ipv6-nd-entry><ipv6-nd-neighbor-address>fe80::1</ipv6-nd-neighbor-address>"
        "<ipv6-nd-neighbor-l2-address>9c:5a:80:00:00:01</ipv6-nd-neighbor-l2-address><ipv6-nd-state>stale</ipv6-nd-state>"
        "<ipv6-nd-isrouter>yes</ipv6-nd-isrouter><ipv6-nd-interface-name>et-0/0/0:0.0</ipv6-nd-interface-name></ipv6-nd-entry>"
        "<ipv6-nd-entry><ipv6-nd-neighbor-address>fe80::2</ipv6-nd-neighbor-address>"
        "<ipv6-nd-neighbor-l2-address>none</ipv6-nd-neighbor-l2-address><ipv6-nd-state>incomplete</ipv6-nd-state>"
        "<ipv6-nd-interface-name>et-0/0/0:1.0</ipv6-nd-interface-name></ipv6-nd-entry></ipv6-nd-information>"
    ),
    "advertising": reply(
        "<ipv6-ra-information><ipv6-ra-interface><interface-name>et-0/0/0:0.0</interface-name>"
        "<ipv6-ra-advertisements-sent>12</ipv6-ra-advertisements-sent>"
        "<ipv6-ra-advertisements-received>11</ipv6-ra-advertisements-received><ipv6-ra-advertisement>"
        "<ipv6-source-address>fe80::1</ipv6-source-address><ipv6-ra-lifetime>1800</ipv6-ra-lifetime><ipv6-ra-mtu-conflict/>"
        "<ipv6-ra-prefix><ipv6-ra-prefix-address>fc00:1:1:1::/64</ipv6-ra-prefix-address></ipv6-ra-prefix>"
        "</ipv6-ra-advertisement></ipv6-ra-interface></ipv6-ra-information>"
    ),
    "bgp": reply(
        "<bgp-information><peer-count>2</peer-count><bgp-peer><peer-address>fd00::5</peer-address><peer-as>4200000001</peer-as>"
        '<peer-state>Active</peer-state><flap-count>2</flap-count><elapsed-time junos:seconds="30">30</elapsed-time>'
        "</bgp-peer></bgp-information>"
    ),
    "bgp-neighbors": reply(
        "<bgp-information><bgp-peer><peer-address>fe80::9e5a:80ff:feef:a28f%et-0/0/0:0.0+179</peer-address>"
        "<peer-as>4200000101</peer-as><local-as>4200001001</local-as><peer-state>Established</peer-state>"
        "<peer-group>UNDERLAY-1</peer-group><flap-count>1</flap-count><last-error>Hold Timer Expired Error</last-error>"
        "<peer-auto-discovery-type>ipv6-nd</peer-auto-discovery-type><peer-cfg-rti>master</peer-cfg-rti>"
        '<elapsed-time junos:seconds="300">5:00</elapsed-time>'
        "<bgp-bfd><bfd-configuration-state>enabled</bfd-configuration-state><bfd-operational-state>up</bfd-operational-state></bgp-bfd>"
        "<bgp-rib><name>inet6.0</name><active-prefix-count>12</active-prefix-count><received-prefix-count>36</received-prefix-count>"
        "<accepted-prefix-count>35</accepted-prefix-count><advertised-prefix-count>4</advertised-prefix-count></bgp-rib></bgp-peer>"
        "</bgp-information>"
    ),
    "bfd": reply(
        "<bfd-session-information><bfd-session><session-neighbor>fe80::1</session-neighbor><session-state>Up</session-state>"
        "<session-interface>et-0/0/0:0.0</session-interface><session-detection-time>3.000</session-detection-time>"
        "<session-transmission-interval>1.000</session-transmission-interval>"
        "<session-adaptive-multiplier>3</session-adaptive-multiplier></bfd-session></bfd-session-information>"
    ),
    "isis": reply(
        "<isis-adjacency-information><isis-adjacency><interface-name>et-0/0/0:0.0</interface-name>"
        "<system-name>router-b</system-name><level>2</level><adjacency-state>Up</adjacency-state>"
        "<holdtime>23</holdtime></isis-adjacency></isis-adjacency-information>"
    ),
    "vrfs": reply(
        "<evpn-l3-context-information><evpn-l3-context><context-name>tenant-1</context-name><context-vni>20001</context-vni>"
        "<route-distinguisher>10.255.0.1:1</route-distinguisher></evpn-l3-context></evpn-l3-context-information>"
    ),
    "instances": reply(
        "<instance-information><instance-core><instance-name>tenant-1</instance-name><instance-type>vrf</instance-type><instance-vrf>"
        "<route-distinguisher>10.255.0.1:1</route-distinguisher><vrf-import>[ __vrf-import-tenant-1-internal__ ]</vrf-import>"
        "<vrf-import-target>[ target:64512:20001 ]</vrf-import-target><vrf-export-target>[ target:64512:20001 ]</vrf-export-target>"
        "</instance-vrf></instance-core></instance-information>"
    ),
    "evpn-prefixes": reply(
        "<evpn-ip-prefix-database-information><evpn-pfxdb-l3-context><context-name>tenant-1</context-name>"
        "<evpn-pfxdb-evpn-ip-table><evpn-pfxdb-evpn-ip-entry><entry-prefix>fc00:1:2:101::/64</entry-prefix>"
        "</evpn-pfxdb-evpn-ip-entry></evpn-pfxdb-evpn-ip-table></evpn-pfxdb-l3-context></evpn-ip-prefix-database-information>"
    ),
    "evpn-macs": reply(
        "<evpn-database-information><mac-entry><vni-id>10020</vni-id><mac-address>aa:c1:ab:4e:be:c2</mac-address></mac-entry>"
        "</evpn-database-information>"
    ),
    "route@default@fc00:1:2:1::_64": reply(
        "<route-information><route-table><table-name>inet6.0</table-name><rt><rt-destination>fc00:1:2:1::</rt-destination>"
        "<rt-prefix-length>64</rt-prefix-length><rt-entry><active-tag>*</active-tag><protocol-name>BGP</protocol-name>"
        "<learned-from>fe80::1</learned-from><as-path>AS path: 4200000101 4200001003 I</as-path><rt-aigp>0</rt-aigp>"
        "<local-preference>100</local-preference><communities><community>color:0:1</community></communities>"
        "<nh><to>fe80::1</to><via>et-0/0/0:0.0</via></nh><nh><to>fe80::2</to><via>et-0/0/0:1.0</via></nh></rt-entry>"
        "<rt-entry><protocol-name>BGP</protocol-name><learned-from>fe80::2</learned-from>"
        "<hidden-reason>Color mismatch</hidden-reason></rt-entry></rt></route-table></route-information>"
    ),
    "neighbors-ipv4": reply(
        "<arp-table-information><arp-table-entry><mac-address>00:1c:73:a0:fc:18</mac-address><ip-address>10.0.1.1</ip-address>"
        "<interface-name>irb.2 [et-0/0/16:0.0]</interface-name></arp-table-entry></arp-table-information>"
    ),
    "filters": reply(
        "<firewall-information><filter-information><filter-name>__default_arp_policer__</filter-name></filter-information>"
        "<filter-information><filter-name>DATA-et-0/0/0:0.0-i</filter-name></filter-information>"
        "<filter-information><filter-name>protect</filter-name></filter-information></firewall-information>"
    ),
    "route-counts": reply(
        "<route-summary-information><route-table><table-name>inet6.0</table-name><destination-count>14</destination-count>"
        "<total-route-count>15</total-route-count><active-route-count>13</active-route-count>"
        "<protocols><protocol-name>Direct</protocol-name><protocol-route-count>9</protocol-route-count>"
        "<active-route-count>9</active-route-count></protocols><protocols><protocol-name>BGP</protocol-name>"
        "<protocol-route-count>5</protocol-route-count><active-route-count>4</active-route-count></protocols></route-table>"
        "<route-table><table-name>tenant-1.inet6.0</table-name></route-table></route-summary-information>"
    ),
    "configuration": "set system host-name stripe1-leaf1\n",
}

EMPTY_TABLE = reply(
    "<route-information><route-table><table-name>inet6.0</table-name></route-table></route-information>"
)
"""A table without routes."""
