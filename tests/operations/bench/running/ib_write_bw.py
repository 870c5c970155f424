"""Stands for perftest where there is no RDMA device: the two ends really meet over TCP, and the asking one prints a table in perftest's form.

The file ``$STAND_IN/$NAME`` says what is wrong on a server: ``fail`` (the asking end prints a failed completion), ``hang`` (neither end
ends), ``deaf`` (the listening end does not listen).
"""

from __future__ import annotations

import itertools
import os
import pathlib
import socket
import sys
import time

HEAD = """---------------------------------------------------------------------------------------
                    RDMA_Write {both}BW Test
 Dual-port       : OFF\t\tDevice         : {device}
 Number of qps   : {qps}\t\tTransport type : IB
 Connection type : RC\t\tUsing SRQ      : OFF
 Mtu             : 4096[B]
 Link type       : Ethernet
 GID index       : {gid}
---------------------------------------------------------------------------------------
"""
ROW = """ #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    20000            {gbps:.2f}             {gbps:.2f}               0.005840
---------------------------------------------------------------------------------------
"""
FAILED = """ Completion with error at client
 Failed status 12: wr_id 0 syndrom 0x81
scnt=128, ccnt=0
"""


def main() -> int:
    words = sys.argv[1:]
    if "--version" in words:
        print("Version: 6.06")
        return 0
    given = dict(itertools.pairwise(words))
    wrong = pathlib.Path(os.environ["STAND_IN"], os.environ["NAME"])
    fault = wrong.read_text() if wrong.exists() else ""
    both = "Bidirectional " if "-b" in words else ""
    print(HEAD.format(both=both, device=given["-d"], qps=given["-q"], gid=given["-x"]), end="", flush=True)
    ran = pathlib.Path(os.environ["STAND_IN"], f"ran.{os.getpid()}")
    said = f"{os.environ['NAME']} {' '.join(words)}"
    port = int(given["-p"])
    if words[-2] == "-p":  # the listening end
        if fault == "deaf":
            ran.write_text(said)
            time.sleep(300)
        with socket.create_server(("127.0.0.1", port)) as door:
            ran.write_text(said)  # not where another has the port: it is asked again, with the next one
            there, _ = door.accept()
            while there.recv(100):
                pass
            if fault == "hang":
                time.sleep(300)
        return 0
    ran.write_text(said)
    with socket.create_connection(("127.0.0.1", port), timeout=10):
        if fault == "hang":
            time.sleep(300)
        if fault == "fail":
            print(FAILED, end="")
            return 1
        print(ROW.format(gbps=771.5 if both else 385.5), end="")
    return 0


sys.exit(main())
