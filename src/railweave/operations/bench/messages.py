"""The meaning of NCCL's messages: the kind of fault that a warning reports, the error number, and the queue pair.

A kind is the id of a rule of ``triage``. The sentences differ between versions of NCCL, RCCL and their plugins, so a
message is recognized by a fragment of its sentence.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from railweave.model.catalog import packaged
from railweave.model.findings.registry import FindingPlace, Rule
from railweave.operations.bench.lines import address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from railweave.operations.bench.triage.wire import Case

_LINUX = """
1 Operation not permitted; 2 No such file or directory; 3 No such process; 4 Interrupted system call
5 Input/output error; 6 No such device or address; 7 Argument list too long; 8 Exec format error
9 Bad file descriptor; 10 No child processes; 11 Resource temporarily unavailable; 12 Cannot allocate memory
13 Permission denied; 14 Bad address; 15 Block device required; 16 Device or resource busy; 17 File exists
18 Invalid cross-device link; 19 No such device; 20 Not a directory; 21 Is a directory; 22 Invalid argument
23 Too many open files in system; 24 Too many open files; 25 Inappropriate ioctl for device; 26 Text file busy
27 File too large; 28 No space left on device; 29 Illegal seek; 30 Read-only file system; 31 Too many links
32 Broken pipe; 33 Numerical argument out of domain; 34 Numerical result out of range; 35 Resource deadlock avoided
36 File name too long; 37 No locks available; 38 Function not implemented; 39 Directory not empty
40 Too many levels of symbolic links; 42 No message of desired type; 43 Identifier removed
44 Channel number out of range; 45 Level 2 not synchronized; 46 Level 3 halted; 47 Level 3 reset
48 Link number out of range; 49 Protocol driver not attached; 50 No CSI structure available; 51 Level 2 halted
52 Invalid exchange; 53 Invalid request descriptor; 54 Exchange full; 55 No anode; 56 Invalid request code
57 Invalid slot; 59 Bad font file format; 60 Device not a stream; 61 No data available; 62 Timer expired
63 Out of streams resources; 64 Machine is not on the network; 65 Package not installed; 66 Object is remote
67 Link has been severed; 68 Advertise error; 69 Srmount error; 70 Communication error on send; 71 Protocol error
72 Multihop attempted; 73 RFS specific error; 74 Bad message; 75 Value too large for defined data type
76 Name not unique on network; 77 File descriptor in bad state; 78 Remote address changed
79 Can not access a needed shared library; 80 Accessing a corrupted shared library
81 .lib section in a.out corrupted; 82 Attempting to link in too many shared libraries
83 Cannot exec a shared library directly; 84 Invalid or incomplete multibyte or wide character
85 Interrupted system call should be restarted; 86 Streams pipe error; 87 Too many users
88 Socket operation on non-socket; 89 Destination address required; 90 Message too long
91 Protocol wrong type for socket; 92 Protocol not available; 93 Protocol not supported
94 Socket type not supported; 95 Operation not supported; 96 Protocol family not supported
97 Address family not supported by protocol; 98 Address already in use; 99 Cannot assign requested address
100 Network is down; 101 Network is unreachable; 102 Network dropped connection on reset
103 Software caused connection abort; 104 Connection reset by peer; 105 No buffer space available
106 Transport endpoint is already connected; 107 Transport endpoint is not connected
108 Cannot send after transport endpoint shutdown; 109 Too many references: cannot splice; 110 Connection timed out
111 Connection refused; 112 Host is down; 113 No route to host; 114 Operation already in progress
115 Operation now in progress; 116 Stale file handle; 117 Structure needs cleaning; 118 Not a XENIX named type file
119 No XENIX semaphores available; 120 Is a named type file; 121 Remote I/O error; 122 Disk quota exceeded
123 No medium found; 124 Wrong medium type; 125 Operation canceled; 126 Required key not available
127 Key has expired; 128 Key has been revoked; 129 Key was rejected by service; 130 Owner died
131 State not recoverable; 132 Operation not possible due to RF-kill; 133 Memory page has hardware error
"""
"""The error numbers of Linux ``errno.h`` (the same on x86 and Arm), with the messages of glibc's ``strerror``.

The messages of the C library musl differ.
"""

NUMBERS = {
    words: int(number)
    for number, _, words in (word.strip().partition(" ") for word in re.split("[;\n]", _LINUX.strip()))
}
"""The number of each Linux error, by the error's message."""
WORDS = {number: words for words, number in NUMBERS.items()}
"""The message of each Linux error, by the error's number."""

_WORDS = "|".join(re.escape(message) for message in sorted(NUMBERS, key=len, reverse=True))
_SPELLINGS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\bRC: ?-?(?P<number>[0-9]{1,5})\b",  # the OFI plugin: libfabric's codes begin with those of errno.h
        r"\breturned -?(?P<number>[1-9][0-9]{0,4}) ?\((?:" + _WORDS + r"|Unknown error)",
        r"\berrno[ =:]{1,2}-?(?P<number>[0-9]{1,5})\b",
        r"\b(?P<number>[0-9]{1,5}):? \(?(?:" + _WORDS + r"|Unknown error)",
        r"(?:" + _WORDS + r") ?\((?P<number>[0-9]{1,5})\)",
        r"\bUnknown error (?P<number>[0-9]{1,5})\b",
        r"^UDS: .*(?:failed|error) : (?P<number>[0-9]{1,5})$",
        r"\b[Pp]oll failed with error (?P<number>[0-9]{1,5})$",
        r"(?<![A-Za-z])(?P<words>" + _WORDS + r")(?![A-Za-z])",
    )
)
"""Patterns that find an error number or error text in a log line, the most reliable first.

A line may have both a socket's own error and an ``errno`` left over from an earlier call. The socket's error is used
(NCCL 2.18 to 2.21). Sources: checks.h, socket.cc, ibvwrap.cc and ipcsocket.cc of NCCL 2.7 to 2.30, RCCL,
nccl-rdma-sharp-plugins, aws-ofi-nccl.
"""


def errno_of(text: str) -> int | None:
    """Return the number of a Linux error from a log message that gives the number or the error's text; None if it gives neither."""
    for spelling in _SPELLINGS:
        if match := spelling.search(text):
            given = match.groupdict()
            return int(given["number"]) if "number" in given else NUMBERS[given["words"]]
    return None


class Meaning(NamedTuple):
    """The meaning of a warning: the kind of fault, a pattern of its messages (``fragment``), and the files and functions that print them."""

    kind: str
    fragment: str
    source: str


MEANINGS = tuple(
    Meaning(*row)
    for row in (
        # railweave's own plugin (plugin/src)
        ("run-no-rdma-device", r"NET/railweave: \S+ port \d+ has no usable RoCE v2 address", "plugin/src/devices.c"),
        ("run-link-event", r"NET/railweave: \S+ (?:is down|reports a fatal error)|NET/railweave: \S+: (?:a completion queue|queue pair)", "plugin/src/events.c"),
        ("run-mixed-rails", r"NET/railweave: .*(?:only common colors|cannot be one device)", "plugin/src/setup.c, devices.c"),
        ("run-mixed-versions", r"NET/railweave: .*handle is not of this plugin", "plugin/src/connect.c"),
        ("run-bootstrap-interface", r"NET/railweave: no interface for set-up", "plugin/src/link.c"),
        ("run-bad-setting", r"NET/railweave: .*(?:ignored|going on without it|colors are ranks|unset it for|NCCL chooses by itself|costs that were known|TELEMETRY)", "plugin/src/params.c, gid.c, host_file.c, tuner.c, costs.c"),
        ("run-library-missing", r"NET/railweave: .*install rdma-core", "plugin/src/verbs.c"),
        ("run-call-failed", r"NET/railweave: (?:.*(?:cannot (?:send|register|listen)|no (?:queue pair|completion queue|protection domain)|does not start)|no connection to|connection refused|connection (?:to|from) )", "plugin/src/qp.c, mr.c, connect.c, failure.c, resources.c"),
        ("run-peer-ended", r"Connection closed by remote peer", "misc/socket.cc socketProgress, ncclSocketProgress; include/socket.h socketProgressOpt"),
        ("run-peer-ended", r"Socket recv failed while polling", "proxy.cc ncclPollProxyResponse"),
        ("run-peer-ended", r"Failed to execute operation", "proxy.cc ncclProxyService"),
        ("run-peer-ended", r"Error encountered progressing operation", "proxy.cc ncclProxyService"),
        ("run-peer-ended", r"Could not receive type from localRank", "proxy.cc ncclProxyService"),
        ("run-peer-ended", r"Proxy Call to rank", "proxy.cc ncclProxyCall"),
        ("run-peer-ended", r"abortFlag while waiting", "rccl/proxy.cc ncclProxyCallAsync"),
        ("run-peer-ended", r"Comm \S+ is in abort state", "proxy.cc ncclPollProxyResponse"),
        ("run-peer-ended", r"encountered a fatal error \(detected in", "transport/net_ib/common.cc ncclIbStatsCheckFatalCount; transport/net_ib.cc ncclIbStatsCheckFatalCount"),
        ("run-peer-ended", r"socket progress error", "transport/net_socket.cc persistentSocketThread"),
        ("run-peer-ended", r"commReclaim|commDestroySync|sets state \d|has already been destroyed|communicator was revoked|SetAsyncError", "init.cc commDestroySync, commReclaim; enqueue.cc ncclEnqueueCheck"),
        ("run-peer-ended", r"ncclProxyClient\w+ call to|ncclProxyCallBlockingUDS call|GIN Error detected|GIN Error on gin context|ncclAsyncJobComplete: job", "proxy.cc ncclProxyClientGetFdBlocking; init.cc ncclCommGetAsyncError; group.cc ncclAsyncJobComplete"),
        ("run-arguments", r"previous operation returned ncclSuccess", "init.cc ncclCommEnsureReady"),
        ("run-peer-ended", r"call_.*_close|Closing (?:send|recv)_comm \S+ with inflight|(?:recv|send)_close\w* with outstanding|inactive (?:communicator|domain|endpoint)", "ofi/nccl_ofi_sendrecv.cpp close; ofi/nccl_ofi_rdma.cpp close, CHECK_ENDPOINT_ACTIVE"),
        ("run-peer-ended", r"destroys proxy resource error", "init.cc commRevokeAsync"),
        ("run-peer-ended", r"for non-existent (?:send|r)_?comm", "ofi/nccl_ofi_rdma.cpp handle_rx_buff_recv"),
        ("run-call-failed", r"[Cc]onnect(?: to \S+)? returned .*exceeded error retry count", "os/windows.cc socketConnectCheck; misc/socket.cc socketConnectCheck"),
        ("run-call-failed", r"socket\w*: exceeded (?:error )?(?:retr|timeouts)", "misc/socket.cc socketStartConnect, socketPollConnect, socketTryAccept"),
        ("run-call-failed", r"Connect to \S+ failed", "os/windows.cc ncclOsSocketPollConnect; misc/socket.cc ncclSocketConnect, socketStartConnect"),
        ("run-call-failed", r"(?:Call to (?:recv|send)\b.* failed|WSAStartup|ioctlsocket|Socket creation failed|getting address info|[Aa]ccept(?: ?:)? [Ff]ailed|WSAPoll failed|[Pp]oll(?:\(\))? (?:failed|returned))", "proxy.cc ncclProxyService, ncclProxyServiceUDS; misc/socket.cc socketPollConnect"),
        ("run-call-failed", r"socketTryAccept: get errno", "misc/socket.cc socketTryAccept"),
        ("run-foreign-connection", r"wrong (?:magic|type) \S+ !=", "misc/socket.cc socketFinalizeAccept"),
        ("run-bootstrap-interface", r"no socket interface found|No usable listening interface|no device found (?:matching|after)|No IP interface found|NET/Socket : no interface|No interface found in the same subnet|ncclNetSocketListen dev=", "bootstrap.cc netGetDevice, bootstrapNetInit; transport/net_socket.cc ncclSocketInit"),
        ("run-bootstrap-interface", r"Invalid NCCL_COMM_ID|pair found|Net : string is null|\[IPv6\]:port pair|address family type|unsupported IP family|neither AF_INET|GetAdaptersAddresses", "include/socket.h GetSocketAddrFromString; bootstrap.cc bootstrapGetUniqueId; misc/socket.cc ncclSocketInit"),
        ("run-mixed-versions", r"Mismatched NCCL version|NCCL version mismatch with remote", "ras/ras.cc rasMsgHandleConnInit; init.cc initTransportsRank"),
        ("run-mixed-versions", r"was compiled with (?:too old version of )?NCCL version|library (?:version )?is too old|not backwards compatible", "dev_runtime.cc getNcclVersionCompat, validateNcclVersion; devcomm/devcomm_v22907.cc ncclDevCommRequirementsFilter_v22907"),
        ("run-mixed-rails", r"mixed local (?:CollNet|Net) device counts|different number of devices=|non-exist[ae]nt virtual device", "init.cc initTransportsRank; transport/net_ib.cc ncclIbAccept; transport/net_ib/connect.cc ncclIbAcceptImpl"),
        ("run-mixed-rails", r"incompatible (?:devices|with the local)|different link_layer|mismatched physical devices", "transport/net_ib/connect.cc ncclIbAcceptImpl; transport/net_ib.cc ncclIbConnect; transport/net_ib/init.cc ncclIbMakeVDeviceInternal"),
        ("run-mixed-rails", r"Unexpected number of remote (?:control )?rails", "ofi/nccl_ofi_rdma.c accept; ofi/nccl_ofi_rdma.cpp accept_wait_for_connection"),
        ("run-ranks-disagree", r"[Mm]essage truncated", "bootstrap.cc bootstrapNetRecv; transport/net_socket.cc ncclNetSocketTest, ncclSocketTest"),
        ("run-ranks-disagree", r"collective mismatch|incorrect receive info|Mismatched collective", "transport/net_ib.cc ncclIbIsend; transport/net_ib/p2p.cc ncclIbIsend"),
        ("run-ranks-disagree", r"mismatch in (?:info|rank count) from procs|has already checked in|localId \S+ is out of range", "bootstrap.cc bootstrapRoot"),
        ("run-ranks-disagree", r"symmetric registration check failed|identical segment configurations|magic mismatch computed", "misc/argcheck.cc registrationCheck; dev_runtime_segments.cc ncclDevrVerifySegmentLayouts; init.cc ncclCommGrow"),
        ("run-ranks-disagree", r"Proxy append mismatch|Mismatched response size|re[qs]pSize is|reqSize is", "transport/coll_net.cc recvProxyConnect, sendProxyConnect; proxy.cc expectedProxyResponseStore"),
        ("run-ranks-disagree", r"exceeds maximum allowed size|Remote recv buffer .*smaller|Received size is|without a matching (?:send|recv)|Group creation failed", "enqueue.cc scheduleP2pTasksToPlan; init.cc ncclP2pSchedule; ofi/nccl_ofi_api.cpp msg_length_verify_max_size"),
        ("run-ranks-disagree", r"(?:does not|doesn't) match (?:the parent|any expected)|is different from child comm|diviser of the number of ranks", "proxy.cc expectedProxyResponseStore; init.cc commAlloc, ncclP2pSchedule"),
        ("run-ranks-disagree", r"not all ranks in the communicator support", "dev_runtime.cc ncclDevrCommCreateInternal"),
        ("run-no-rdma-device", r"Unable to (?:open|query) (?:device|port)|No device found|IB device \S+ not found|Insufficient Libfabric devices", "transport/net_ib.cc ncclIbInit; transport/net_ib/init.cc ncclIbInitDevices; transport/gdaki/gin_host_gdaki.cc gdakiFindDevice"),
        ("run-no-rdma-device", r"find any optimal provider|No viable endpoint|fi_getinfo\(\) call failed|Only EFA provider|No network devices that support", "transport/gdaki/gin_host_gdaki.cc gdakiFindDevice; ofi/nccl_ofi_sendrecv.c nccl_net_ofi_sendrecv_init; ofi/nccl_ofi_ofiutils.c nccl_ofi_ofiutils_get_providers"),
        ("run-link-event", r"async (?:fatal )?(?:error )?event|unknown event type|GID table chang|speed change detected", "transport/net_ib/common.cc ncclIbAsyncThreadMain; transport/net_ib.cc ncclIbAsyncThreadMain"),
        ("run-nic-failed", r"marked as failed|failed devices out of|functional device|replacement QP|probing attempts|single device\. This does not|The error is fatal|FailedRequest|pre-posted receive work", "transport/net_ib/p2p_resiliency.cc ncclIbResiliencyReplaceQps, ncclIbResiliencyProbePost, ncclIbResiliencyCheckErrorNotFatal"),
        ("run-nic-failed", r"NET/IB: .*(?:failed request|CQE with error|stale CQE|resiliency|recovery|replay|GoToPrevState|alive message|repost)", "transport/net_ib/p2p_resiliency.cc ncclIbResiliencySendRequestInit, ncclIbResiliencyRepostRequest, ncclIbResiliencyHandleCompletionErrorSender"),
        ("run-completion-failed", r"ompleted? with error|complete with error|nknown remote write error|buffer recv completed|Unsupported completion status", "ofi/nccl_ofi_rdma.c process_err_completion; transport/net_ib/p2p_resiliency.cc ncclIbResiliencyCheckErrorNotFatal; ofi/nccl_ofi_rdma.cpp handle_error_entry"),
        ("run-call-failed", r"Call to (?:ibv|mlx5dv|rdma)_\w+ failed|ibv_post_\w+\(\) failed|ibv_poll_cq\(\) returned|mlx5dv_\w+ (?:failed|with device)|get_data_direct_sysfs", "include/ibvwrap.h wrap_ibv_post_send; misc/ibvwrap.cc wrap_ibv_modify_qp; transport/net_ib/connect.cc ncclIbCreateQpMlx5"),
        ("run-call-failed", r"RC: ?-?\S+|; rc=|with RC \S+|with rc=|\brc \S+$|fi_\w+(?: \w+)* (?:failed|call failed)|FI_OPT_\w+ (?:option )?failed", "ofi/nccl_ofi_ofiutils.c nccl_ofi_ofiutils_init_connection; ofi/rdma/gin/nccl_ofi_gin_reqs.cpp post; ofi/nccl_ofi_sendrecv.c register_mr_buffers"),
        ("run-call-failed", r"(?:open|read) failed in ncclIbRoceGetVersionNum", "transport/net_ib/connect.cc ncclIbRoceGetVersionNum"),
        ("run-internal", r"could not find mr|sequence number is in use", "transport/net_ib/reg.cc ncclIbDeregMrInternal; ofi/gin/nccl_ofi_gin.cpp"),
        ("run-plugin-failed", r"Failure in plugin cleanup", "ofi/nccl_ofi_api.cpp"),
        ("run-bad-setting", r"force enabled but|out of range \[1,32\]|is invalid for family|relaxed order memory access requested", "transport/net_ib/connect.cc ncclIbReceiverQpsCreateToRts, ncclIbFindDevBySubnet; transport/net_ib.cc envIbAddrRange"),
        ("run-topology", r"plane IDs?\b", "transport/net_ib/init.cc ncclIbGetPlaneIndex"),
        ("run-library-missing", r"libibverbs|mlx5dv symbols|dlv?sym failed|lib wrapper not initialized", "transport/net_ib/connect.cc ncclIbRoceGetVersionNum; misc/ibvwrap.cc LOAD_SYM; misc/gdrwrap.cc wrap_gdr_copy_from_mapping"),
        ("run-no-gpudirect", r"GDR disabled on|GDR support reported|DMA-?BUF support|Peermem is not supported|GDR Flush only|GDRCopy|gdr_(?:copy|map|unmap|pin|unpin|open|close|get)\w*|GDRCOPY|GDR flush|CUDA flush|PXN should not use|GDR is not enabled|DUP_CONNS|not declared|libgdrapi|gdrcopy", "ofi/nccl_ofi_gdrcopy.cpp nccl_ofi_gdrcopy_ctx; ofi/nccl_ofi_net.c nccl_net_ofi_create_plugin; misc/gdrwrap.cc wrap_gdr_pin_buffer"),
        ("run-same-gpu", r"Duplicate (?:GPU|virtualId) detected|using the same (?:GPU|NVML)|with multiple ranks using the same", "init.cc initTransportsRank; transport/nvls.cc ncclNvlsInit; rccl/init.cc initTransportsRank"),
        ("run-nvlink", r"P2P is disabled between NVLINK|MNNVL|NVLS|NVLink SHARP|Multicast|Multimem|CC On, Multi-GPU", "mnnvl.cc ncclMnnvlCheck; ofi/platform-aws.c platform_init; graph/search.cc getNvlsNetDev"),
        ("run-nvlink", r"failed to peer with device|(?:cuda|hip)IpcGetMemHandle|IPC handle|IPC (?:register|peer)|Legacy IPC", "transport/p2p.cc ipcRegisterBuffer, ncclP2pAllocateShareableBuffer; init.cc commDestroySync"),
        ("run-gpu-failed", r"(?:Cuda|HIP|ROCr|NVML|GDRCOPY|ARSMI) failure|nvml\w+(?:\([^)]*\))? failed|NVML device handle|No NVML|reported more devices", "misc/nvmlwrap.cc ncclNvmlEnsureInitialized; graph/xml.cc ncclTopoGetXmlFromGpu; include/cudawrap.h CUCHECKGOTO"),
        ("run-gpu-failed", r"\bcu[A-Z]\w+ (?:\(\w+\) )?failed|\b(?:cuda|hip)[A-Z]\w+\S* (?:\S+ )?failed|CUDA (?:device|context)|CUDA initialization|CUDA device count|current CUDA|vmm_alloc|FlushGPUDirect", "ofi/nccl_ofi_cuda.cpp nccl_net_ofi_gpu_mem_copy_host_to_device; mem_manager.cc ncclCommMemResume; proxy.cc ncclProxyProgress"),
        ("run-gpu-failed", r"rocm_smi|ARSMI|ROCm SMI|hsa_\w+ failed|Failed to (?:get kernel|query (?:CUDA|HIP)|disable stream|restore (?:stream|from CPU)|copy to CPU)|stream capture mode|topo/nodes|topology/node|property files|GPU id of node", "ofi/nccl_ofi_rocm.cpp nccl_net_ofi_gpu_init; ofi/nccl_ofi_cuda.cpp nccl_net_ofi_gpu_init, nccl_net_ofi_gpu_mem_copy_host_to_device"),
        ("run-gpu-failed", r"maxSharedMem|old driver|driver is older|requires CUDA driver|CUDA (?:version|runtime|Graphs)|prior to CUDA|sm90|h2d copy|gpu_mem_alloc|flush buffer|GPU signal", "enqueue.cc ncclInitKernelsForDevice; misc/strongstream.cc ncclCudaGetCapturingGraph; ofi/nccl_ofi_sendrecv.c alloc_and_reg_flush_buff"),
        ("run-out-of-memory", r"Failed to (?:CUDA (?:malloc|calloc|host alloc)|malloc|alloc)\w*|(?:mem|[mc])alloc\S* (?:returned null|failure|failed)|returned null|No suitable space", "misc/utils.cc ncclIntruAddressMapInsert_untyped; ofi/nccl_ofi_rdma.cpp prepare_recv_comm; sharp/ucx_uct_lib.c nccl_uct_iface_open"),
        ("run-library-missing", r"(?:find|load) (?:CUDA|ROC[mr]|HIP|nvml|libnvidia)|libnvidia-ml|PFN functions|Retrieve \S+ (?:version|failed)|missing symbol|Failed to (?:load|resolve) |ncclGetVersion|driver entry point|rocprofiler|Insufficient driver", "misc/cudawrap.cc initOnceFunc, LOAD_SYM; rccl/misc/rocmwrap.cc initOnceFunc"),
        ("run-shared-memory", r"shared memory|/dev/shm|failed to extend|Could not map|map view of file|shm (?:close|unlink)|munmap|ShmObject|UnmapView|SHM legacy|SHM locality", "os/windows.cc ncclOsShmOpen; os/linux.cc ncclOsShmOpen; rccl/clique/ShmObject.h Open"),
        ("run-shared-memory", r"UDS: |IPC: |named pipe|MsgQueue|Message Queue|socket pair|listenSock fd|\.sock fails?|sock fd fails", "proxy.cc ncclProxyService; os/windows_ipcsocket.cc ncclIpcSocketSendMsg, ncclIpcSocketRecvMsg"),
        ("run-out-of-memory", r"(?:nable to|ould ?n[o']t|ailed to|not) (?:get )?(?:\(re\))?(?:alloc|grow)\w*|[Aa]llocat\w+ (?:\w+ )*(?:failed|failure)|calloc|alloc failed|[Ff]reelist\w* (?:extension|allocation)|pool - allocation|ran out of room|No (?:free|freelist|pre-allocated|IDs|MR keys|comm id)\b|pool exhausted|Allocation failed", "ofi/nccl_ofi_sendrecv.c nccl_net_ofi_sendrecv_init; ofi/nccl_ofi_rdma.cpp calloc_rdma_recv_comm, calloc_rdma_send_comm"),
        ("run-out-of-memory", r"Too many (?:open (?!files)|connections)|ould not (?:extend|create) |Cannot (?:open more|allocate any more)|window full|eager queue full|[Ff]ree ?list (?:is empty|not allocated)|freelist \S+ is full|Stack is full|Failed to (?:increase|insert new)", "ofi/nccl_ofi_rdma.cpp ep_rail_init; proxy.cc ncclProxyService; ofi/nccl_ofi_sendrecv.c listen"),
        ("run-plugin-failed", r"initialize any NET plugin|network \S+ not found|NET plugin has not been initialized|protocol that worked|Failed to (?:in?)?itialize .*protocol|Failed to initialize \S+ protocol", "plugin/net.cc ncclNetInit; ofi/nccl_ofi_net.c nccl_net_ofi_create_plugin; ofi/nccl_ofi_net.cpp nccl_net_ofi_create_plugin"),
        ("run-plugin-failed", r"NET/OFI .*(?:plugin|component|domain|endpoint|\bep\b|device|rail)[^:]* (?:failed|is not initiali[sz]ed|is uninitiali[sz]ed|has not been initialized)|Caught exception in|NET/OFI Initializing|CUDA initialization failed", "ofi/nccl_ofi_api.c nccl_net_ofi_connect; ofi/nccl_ofi_api.cpp nccl_net_ofi_init; ofi/nccl_ofi_rdma.cpp init_rail_ofi_resources"),
        ("run-plugin-failed", r"(?:set|access) the number of devices|maxP2pBytes|maxCollBytes|incompatible version|Unknown device code|plugin returned invalid|Profiler init failed|libfabric version|plugin protocol", "plugin/net.cc ncclNetCheckDeviceVersion, ncclCollNetGetDevCount; plugin/gin.cc ncclGinGetDevCount"),
        ("run-plugin-failed", r"NET.UCX|[Uu]cx_\w+:|\bUCX\b|\bUCT\b|\buct |rkey_?(?:buf|unpack|packed)|for worker|[Ww]orker allocation|connect msg|[Ii]face |MD configuration|local ep comm|Send check requested|dev_addr|rdesc in|[Ii]nterface (?:does|flag)", "sharp/ucx_uct_lib.c nccl_uct_iface_open, nccl_uct_worker_create; sharp/ucx_plugin.c nccl_ucx_irecv"),
        ("run-offload", r"CollNet|SHARP|[Ss]harp|COLLNET|CliqueManager|clique|IPC handle for barrier", "sharp/sharp_plugin.c ncclSharpConnect, ncclSharpIreducescatter; init.cc initTransportsRank"),
        ("run-offload", r"MSCCL|NPK[Ii]t|symmetric (?:memory|kernel)|Symmetric register|\bGIN\b|GIN_|[Gg]in connect|\bginPlugin|rmaPlugin|\bRMA\b|[Rr]ma (?:connect|Proxy)|ncclPutSignal|ncclSignal|ncclWaitSignal|Inspector|nccl4py|DOCA|GDAKI|\bgin: |\bgin_\w+", "rccl/misc/msccl/msccl_parser.cc mscclGetAlgoFromXmlFile; enqueue.cc rmaTaskAppend; gin/gin_host.cc ncclGinConnectOnce"),
        ("run-offload", r"MemManager|Memory (?:suspend|resume)|type of buffer is not supported|set for (?:input|output|scratch) buffer|algorithm file|CE collective|device communicator|[Ww]indow (?:registration|has|address)|matching window|CUDA Graph|CUDA graph|tuner|Tuner|deregister \w+ buffer|regist\w+ (?:userbuff|fails)|user buffers|regBufType", "mem_manager.cc ncclCommMemResume, ncclDynMemMarkExportToPeer; register/register.cc regCleanup"),
        ("run-bad-setting", r"not a power of 2", "init.cc devCommSetup"),
        ("run-host-setting", r"amd_iommu|iommu=pt|FINE_GRAIN_PCIE|NUMA auto balancing|kernel\.numa_balancing|IMEX|s?ched_(?:get|set)affinity|AffinityMask", "rccl/init.cc ncclInit; os/linux.cc ncclOsGetAffinity, ncclOsSetAffinity"),
        ("run-bad-setting", r"is being ignored|is ignored due|, ignoring|defaulting to|using default|setting it to|limiting to|cap it to|Limiting value|set both to|is too small|greater than the maximum|is deprecated|invalid value|Unsetting|falling back to graphStream", "init.cc envConfigOverride; transport/net_socket.cc ncclSocketGetNsockNthread; graph/connect.cc ncclMinNchannels"),
        ("run-bad-setting", r"Invali[dg] config|Invalid (?:%s|NCCL_\w+|netGdrLevel|value|\S+ -?\d+ \((?:min|max|must))|invalid netGdrLevel|Unrecognized (?:element|prefix|histogram)|is not a valid value 0/1|must have a prefix|unknown value|CONFIG_INITIALIZER|(?:min|max)CTAs|set to invalid|Conflicted configuration|Unable to (?:set|configure)|Could not set|NCCL_PROTO|forced rails|not supported together|config parsing|COMM_BLOCKING|environment variable", "init.cc parseCommConfig; transport/net_ib/p2p_resiliency.cc ncclIbResiliencyHandleCompletionErrorReceiver; graph/tuning.cc parseList"),
        ("run-bad-setting", r"NCCL_NET_MERGE_LEVEL|NCCL_NET_FORCE_MERGE|NCCL_IB_HCA|NCCL_IB_MERGE_NICS|NCCL_COMM_ID is set|MERGE_POLICY|_INITIALIZER|host_id_invalid", "group.cc ncclGroupEndInternal; dev_runtime.cc ncclCommQueryProperties; bootstrap.cc bootstrapGetUniqueId"),
        ("run-topology", r"No transport found|has no transport|no transport for|[Nn]o algorithm/protocol|path for pattern|rev link|No path computed|reverse path|requires NIC", "proxy.cc SaveProxy; enqueue.cc topoGetAlgoInfo; transport.cc selectTransport"),
        ("run-topology", r"[Cc]ould not find (?:NET|NIC|net|GPU|gpu|CPU|DEV|node|id|intermediate|local|any|a path|find)|could not find|Couldn't find net|local path|Error : (?:ring|tree|too many|could not|tried)|tried to create too many|localHostHash", "graph/topo.cc ncclTopoAddNvLinks, ncclTopoCreateNode; graph/paths.cc ncclTopoGetIntermediateRank"),
        ("run-topology", r'XML|topology|Topology|hwloc|PCI (?:attributes|speed|Link|tag|bridge|NIC|level|device|info|bus ID)|pciPath|real path|attach NIC to|[Ll]ink (?:width|speed) \\?"|Add (?:NVLink|PCI|XGMI|C2c)|CPU numa|CPU arch|netDevs|[Mm]erg(?:e|ing) (?:multiple|incompatible|net)|fused NIC|vNic|NIC info|busId of|unique busId|BusId 0x|Fusing NET|network devices =|ncclTopo|TOPO/NET|topo (?:group|file)|Set CPU affinity|physical device|virtual NIC|properties for|rank could not|Rome model|net with|netMasks', "ofi/nccl_ofi_rdma.c nccl_net_ofi_rdma_init, write_topo_file; ofi/nccl_ofi_rdma.cpp write_topo_file"),
        ("run-arguments", r"invalid (?:root|type|reduction)|argument is NULL|not a valid pointer|is not a valid pointer|mismatchs with NCCL device|corrupted comm|Invalid (?:rank|device|handle)|Invalid arguments? (?:comm|desc|handle)|improper usage|invalid (?:device count|arguments|pointer|communicator)|unknown to this|ncclRedOp|ncclCommGrow|ncclGroup|in the same group|same graph|in graph mode|mixing different streams|all (?:un)?captured|CUDA graph captured|ncclComm\w+ should|must be (?:provided|0)|handles and parent|Too many (?:aggregated|async) |Trying to launch|NULL socket|NULL pointer|\w is NULL|nullptr|exceeds (?:ndev|total)|is not a builtin|operator is|unsupported collective|Data type supplied|Deregister: Could not|Duplicate (?:option|registration)", "init.cc ncclCommGrow; enqueue.cc ncclRedOpDestroy; misc/argcheck.cc ArgsCheck"),
        ("run-arguments", r"is not in the valid|not within valid|Flags \S+ is invalid|Context \d+ is invalid|Signal index|extends beyond|alignment \S+ is not|Error accessing|device ID|must be (?:suitably|positive)|physical (?:cuMem )?segments|Segment \S+ has unsupported|Communicator does not|ommunicator is already connected|type NCCL_GIN", "ofi/nccl_ofi_mr.cpp nccl_ofi_mr_cache; dev_runtime_segments.cc ncclDevrValidateHandleLocationType; allocator.cc ncclSpaceFree"),
        ("run-internal", r"[Ii]nternal error|has bugs|RAS (?:received|thread)|RAS fatal|fatal error - RAS|Proxy append|[Aa]ctive list loop|[Ll]ist loop at|pool of op|has been lost|next set!|[Dd]equeue|opId=|op chain|[Ss]ervice thread\]|Proxy (?:S|s)ervice|ncclProxyConnect:|pthread_join|Thread (?:creation|join)|join thread|corrupted|P2p operation|local ranks rank|intra (?:node |proc )?ranks", "proxy.cc dumpProxyState, ncclProxyConnect; init.cc initTransportsRank"),
        ("run-internal", r"strong stream|Unknown (?:pattern|collnet)|pattern for collective|plan not aligned|schedule not aligned|HostCallback|host ?[Ss]tream\w*\(\) failed|Failure in host setup|shadow pool|offset=0x|Intrusive address|[Kk]ey size|Object pointer|object pointer|Rem Allocator|Unexpected connections|invalid client status|Invalid client status", "enqueue.cc hostStreamPlanCallback, getLoopInfo; bootstrap.cc bootstrapClose"),
        ("run-internal", r"ncclSocket\w+: |ncclOsSocket\w+: |socketFinalize|socket(?: is)? invalid|NET/(?:IB|Socket) ?: (?:test called|ncclIb\w+\(\) called|sendReq|req \d|could not find mr|No format)|ncclIb(?:Isend|Irecv)\(\) called|sendReq\(|Listencomm in|expected a '|Unknown completion|retreive a request|Unrecognized request|Invalid (?:request index|wr_id|intra-node|regBufType)|sizes of \S+ requests|already connected sendComm|IBV_WC_RECV_RDMA_WITH_IMM|remote FLID|GetMrKey|getRandomData", "transport/net_ib/p2p.cc ncclIbCompletionEventProcess; misc/socket.cc ncclSocketConnect; transport/net_ib.cc ncclIbTest"),
        ("run-internal", r"NET/OFI (?:Invalid|Unexpected|Unknown|Incorrect|Wrong|Error|Unable|Failed|Could|Couldn't|Cannot|Attempt|Call(?:ed| to)|No |NULL|Received|Duplicate|Entry|Free|Mutex|Locking|Unlocking|Memory|Message|Cleanup|Closing|Send|Recv|Read|Write|Receive|Request|Schedule|Stack|Provider|Provided|RDMA|RMA|Protocol|Passed|Posting|Preparation|Handle|listen_?[cC]omm|[rs]Comm|Comm |Conn|CQ |Context|Key|MR|Null|Freelist|freelist|msgbuff|pthread|delete|elem|lookup|preparing|ncclGetVersion|nccl_ofi|hwloc|rdma endpoint|conn_info|bootstrap|domain|ep |fi_|ID |Info|Insufficient|Group|Expected|Endpoint|Metadata|Did|Data|Creating|Copy|Adding|Address|Aborting|Allocating|Bridge|Also|Not|Outstanding|Param|Only|Operation|Regex|Refusing|Setting|Signal|Topology|Querying|Remote|Retriev|Fatal|Finalizing|Use|virt|vmm|recv_segms|unk|handle_ack|regMrSym|%|[a-z]+ (?:endpoint|freelist|domains))", "ofi/nccl_ofi_rdma.c nccl_net_ofi_rdma_init, handle_bounce_recv; ofi/rdma/gin/nccl_ofi_gin_allgather.cpp all_gather"),
        ("run-plugin-failed", r"Failed RTR|UCX_TLS|post_fifo|connect message|Address sizes are too big|for listener dev|Accepted comm=|Device index is too large|socket msg", "sharp/ucx_plugin.c, ucx_uct_lib.c, ucx_rma_plugin.c"),
        ("run-offload", r"ncclRmaProxy\w+: |signalOp|Dev comm not|gin type|GFD test|space to get elements|LSA team|MCBasePtr|determine my rank|symmetric registration req|SymmetricTaskScheduler|Net registration", "rma/rma_proxy_launch.cc; gin/gin_host.cc; dev_runtime.cc; sharp/sharp_plugin.c"),
        ("run-library-missing", r"Failed to open \S+ - |[Dd]lsym failed|Failed to open \S*(?:gdrapi|ibverbs|cuda|nvml)", "misc/gdrwrap.cc"),
        ("run-gpu-failed", r"Could not read node #|link properties files", "rccl/misc/alt_rsmi.cc"),
        ("run-topology", r"too long \(max|Attribute \S+ of node|MLOPart", "graph/xml.cc, graph/topo.cc"),
        ("run-internal", r"captured by the expected graph|Error freeing shared buffer|reduce refcount|No format specified for opcode", "misc/strongstream.cc; proxy.cc; misc/shmutils.cc; transport/net_ib/p2p.cc"),
        ("run-internal", r"NET/OFI .*(?:still active after|in-use entries|NULL (?:ctx|op_context)|inflight requests|GUID parsing|EMULATED_WRITE is|into address vector|platform)", "ofi/nccl_ofi_rdma.cpp; ofi/platform-aws.cpp"),
        ("run-plugin-failed", r"NET/OFI .*(?:initialization|creation) failed", "ofi/nccl_ofi_net.cpp"),
    )
)  # fmt: skip
"""The meanings of warnings. The first whose pattern matches a message applies.

Sources are files of NCCL's ``src``, of RCCL, and of the SHARP and OFI plugins.
"""
_PATTERNS = tuple((meaning.kind, re.compile(meaning.fragment)) for meaning in MEANINGS)
_COMPLETION = re.compile(r"ompletion .*(?:vendor|status[ =]|with error)|complet\w+ with error")


@lru_cache(maxsize=4096)
def kind_of(text: str) -> str:
    """Return the kind of fault that a warning reports, as the id of a rule; empty if the warning is unknown.

    If no pattern in ``MEANINGS`` matches, a warning with the number or text of a Linux error counts as a failed call.
    """
    if _COMPLETION.search(text):
        return "run-completion-failed"
    kind = next((kind for kind, pattern in _PATTERNS if pattern.search(text)), "")
    return kind or ("run-call-failed" if errno_of(text) is not None else "")


def _reports(id_: str) -> Callable[[Case], Iterator[FindingPlace]]:
    """Return the check function that reports the warnings of the kind ``id_`` in ``MEANINGS``."""
    return lambda case: case.reported(id_)


def _gpu_links(case: Case) -> Iterator[FindingPlace]:
    """Yield the warnings in a log (``case``) about links between GPUs. For a log of RCCL, the finding's reason and fix are for AMD's GPUs."""
    logs = case.job or ((case.log,) if case.log else ())
    rccl = any(log.library == "RCCL" for log in logs)
    for place in case.reported("run-nvlink"):
        yield replace(place, why=AMD_LINKS.format(link=_amd_link()), fix=AMD_LINKS_FIX) if rccl else place


AMD_LINKS = (
    "RCCL could not use {link} or peer access between GPUs: the driver, the IOMMU or the container settings are wrong"
)
AMD_LINKS_FIX = (
    "check `rocm-smi --showtopo`, iommu=pt in /proc/cmdline, and that the container has /dev/kfd and /dev/dri of every GPU. "
    "NCCL_P2P_DISABLE=1 shows if peer access is the cause"
)


def _amd_link() -> str:
    """Return the catalog's name of the links between AMD's GPUs."""
    return next(
        m.gpu_link.name for m in packaged().servers.values() if m.gpu_vendor == "AMD" and m.gpu_link is not None
    )


KINDS = (
    Rule(
        "run-gpu-failed",
        "error",
        "run",
        holds="Calls of the GPU driver and the GPU runtime succeed.",
        why="CUDA or ROCm rejected a call: a GPU is faulty, the program made an illegal memory access earlier, or "
        "the driver has the wrong version",
        fix="run `dmesg` (look for Xid or amdgpu) and `nvidia-smi -q` or `rocm-smi` on that server; the first "
        "such failure of a job is the cause, the others follow from it",
        check=_reports("run-gpu-failed"),
    ),
    Rule(
        "run-same-gpu",
        "error",
        "run",
        holds="Each rank has a GPU of its own.",
        why="two ranks of a communicator use the same GPU, because the launcher assigned it to both or started "
        "too many processes",
        fix="select the GPU by the local rank (torchrun's LOCAL_RANK, CUDA_VISIBLE_DEVICES, srun "
        "--gpus-per-task), and start as many ranks on a server as it has GPUs",
        check=_reports("run-same-gpu"),
    ),
    Rule(
        "run-nvlink",
        "error",
        "run",
        holds="GPUs of a server and of an NVLink domain can reach each other (NVLink, XGMI, peer access).",
        why="NCCL could not use NVLink, NVLink SHARP or peer access: the fabric manager, IMEX or the container "
        "settings are wrong",
        fix="check `systemctl status nvidia-fabricmanager`, `nvidia-imex-ctl -N` and `nvidia-smi topo -p2p n`. To "
        "find the failing feature, turn one off at a time with NCCL_NVLS_ENABLE=0, NCCL_MNNVL_ENABLE=0 or "
        "NCCL_P2P_DISABLE=1",
        check=_gpu_links,
    ),
    Rule(
        "run-shared-memory",
        "error",
        "run",
        holds="Ranks of a server share memory and Unix sockets.",
        why="ranks of a server exchange data in /dev/shm and over Unix sockets; by default, a container has only "
        "64 MB of /dev/shm and its own namespaces",
        fix="start containers with docker --shm-size=1g --ulimit memlock=-1 or --ipc=host; in Kubernetes, mount "
        "an emptyDir of medium Memory at /dev/shm; look for left-over files with `df /dev/shm`",
        check=_reports("run-shared-memory"),
    ),
    Rule(
        "run-out-of-memory",
        "error",
        "run",
        holds="NCCL can allocate the memory that it needs.",
        why="the memory of the host or a GPU, or a table of the library, is full",
        fix="leave memory for NCCL (about 1 GB per GPU; less with fewer channels, NCCL_MAX_NCHANNELS, or a "
        "smaller NCCL_BUFFSIZE), and check the limits of the container",
        check=_reports("run-out-of-memory"),
    ),
    Rule(
        "run-ranks-disagree",
        "error",
        "run",
        holds="Ranks agree on the communicator and on each operation.",
        why="two ranks disagree about sizes, operations, the number of ranks, variables or versions",
        fix="compare the calls of the two ranks, their variables (`env | grep NCCL`) and versions; a left-over "
        "process of an earlier job on the same port has the same effect",
        check=_reports("run-ranks-disagree"),
    ),
    Rule(
        "run-foreign-connection",
        "warning",
        "run",
        holds="Only ranks of the job connect to its ports.",
        why="a process outside the job connected to a port of the bootstrap: a port scanner, or a process of a "
        "different job",
        fix="keep port scanners away from these ports, end left-over processes, and give each job its own MASTER_PORT",
        check=_reports("run-foreign-connection"),
    ),
    Rule(
        "run-nic-failed",
        "error",
        "run",
        holds="All NICs of the job work until it ends.",
        why="NCCL stopped using a NIC, and continued with other NICs or failed",
        fix="check the link, the optics and the kernel log of that NIC (`railweave host check --only link,log`), "
        "and run `railweave check` for its switch",
        check=_reports("run-nic-failed"),
    ),
    Rule(
        "run-topology",
        "warning",
        "run",
        holds="NCCL finds paths between GPUs and NICs.",
        why="NCCL's topology of the server (PCIe, NUMA, NICs, an XML file) is incomplete, so NCCL uses a slower "
        "path or none",
        fix="unset NCCL_TOPO_FILE and NCCL_GRAPH_FILE, make /sys available in the container, and compare the file "
        "of NCCL_TOPO_DUMP_FILE with that of a working server",
        check=_reports("run-topology"),
    ),
    Rule(
        "run-bad-setting",
        "warning",
        "run",
        holds="Variables and settings of NCCL have valid values.",
        why="NCCL ignores or changes the value of a variable or setting",
        fix="correct or unset the variable in this line of the log",
        check=_reports("run-bad-setting"),
    ),
    Rule(
        "run-host-setting",
        "warning",
        "run",
        holds="The host's kernel is configured for GPU traffic.",
        why="because of a kernel parameter or a variable, DMA can fail, hang or be slow",
        fix="set the kernel parameters iommu=pt (AMD: also amd_iommu=on), `sysctl kernel.numa_balancing=0`, and "
        "the variable in this line of the log; `railweave host check` checks them",
        check=_reports("run-host-setting"),
    ),
    Rule(
        "run-offload",
        "warning",
        "run",
        holds="Optional accelerations of NCCL can be used.",
        why="SHARP, CollNet, device-initiated networking, MSCCL, symmetric memory or a profiler was requested but "
        "cannot be used; most runs continue without it",
        fix="if you need it, the line of the log says what is missing; if not, unset the variable that enables it",
        check=_reports("run-offload"),
    ),
    Rule(
        "run-arguments",
        "error",
        "run",
        holds="The program calls NCCL with valid arguments.",
        why="NCCL rejected the program's arguments: a fault of the program or framework, not of the network",
        fix="set NCCL_CHECK_POINTERS=1 and NCCL_DEBUG=INFO, and look at the call in this line of the log",
        check=_reports("run-arguments"),
    ),
    Rule(
        "run-internal",
        "error",
        "run",
        holds="The library's internal state is consistent.",
        why="the library found its internal state inconsistent, in most cases after an earlier failure, otherwise "
        "because of a bug",
        fix="look for an earlier failure in the logs of all ranks; if there is none, try a different version of "
        "the library or plugin, and report the bug",
        check=_reports("run-internal"),
    ),
)
"""The rules that only turn warnings into findings, each for one kind of fault in ``MEANINGS``."""


class QueuePairCall(NamedTuple):
    """The queue pair of a failed ``ibv_modify_qp``. Values that the message lacks are empty. GIDs are given as IP addresses."""

    device: str = ""
    states: str = ""
    gid_index: str = ""
    local_gid: str = ""
    remote_gid: str = ""


_ON_DEVICE = re.compile(r"\bon dev ([^\s,]+)")
_STATES = re.compile(r"curr state (\w+), next state (\w+)")
_GID_INDEX = re.compile(r"GID index (\d+)")
_LOCAL_GID = re.compile(r"local GID ([0-9a-fA-F:.]+)")
_REMOTE_GID = re.compile(r"remote GID ([0-9a-fA-F:.]+)")


def queue_pair_of(text: str) -> QueuePairCall:
    """Return the queue pair in the message of a failed ``ibv_modify_qp``: device, states, GID index and GIDs (NCCL 2.24 and later)."""
    states = _STATES.search(text)
    device, index, local, remote = (
        match[1] if (match := pattern.search(text)) else ""
        for pattern in (_ON_DEVICE, _GID_INDEX, _LOCAL_GID, _REMOTE_GID)
    )
    return QueuePairCall(
        device, f"{states[1]} to {states[2]}" if states else "", index, address(local), address(remote)
    )
