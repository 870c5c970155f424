#!/usr/bin/env bash
# Starts a collective test on the servers.
# Written by railweave for three-vendors; change the fabric file, not this.
set -euo pipefail

# Open MPI 5: messages of MPI itself go by UCX, whose variables nccl.env sets.
SERVERS=hostfile.rccl
GPUS=8
MPIRUN=/opt/AMD/install/mpi/bin/mpirun
OPTIONS=(
    --prefix
    /opt/AMD/install/mpi
    --mca
    pml
    ucx
    --mca
    osc
    ucx
    --mca
    btl
    '^sm,tcp,uct'
)

# What follows is the same for every network.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
HOSTFILE=$HERE/$SERVERS
HOSTS=
PER_HOST=$GPUS
DRY_RUN=no
# Every rank starts through this, so that each server puts in what only it knows, such as its GID index.
LAUNCHER=${RAILWEAVE_LAUNCHER:-railweave host env}

usage() {
    cat <<END
usage: ${0##*/} [OPTION]... [--] [PROGRAM [ARGUMENT]...]
  --hosts HOSTS    servers in the order of their ranks, such as H100-03,H100-[01-02]; the first N of the hostfile; or
                   stripes-alternate, one of each stripe in turn (default: all, as the hostfile has them)
  --per-host N     processes on a server, which share its $GPUS GPUs (default: $GPUS)
  --hostfile FILE  default: $SERVERS beside this script
  --launcher CMD   what starts each rank, before "-- PROGRAM" (default: $LAUNCHER)
  --dry-run        print the command
PROGRAM is all_reduce_perf by default. all_reduce_perf, alltoall_perf and the like get -b 8 -e 16G -f 2 -c 0 where no
ARGUMENT is given, and -g as the number of GPUs of a process.
END
}

wrong() {
    printf '%s\n' "$*" >&2
    exit 2
}

# The names that a list stands for, one a line: H100-[01-03,07],H100-09.
names_of() {
    local rest=$1 word part number head tail
    while [[ -n $rest ]]; do
        [[ $rest =~ ^([^],[]+(\[[0-9,-]+\][^],[]*)?)(,(.+))?$ ]] || wrong "--hosts: $1 is no list of servers"
        word=${BASH_REMATCH[1]} rest=${BASH_REMATCH[4]:-}
        if [[ $word != *'['* ]]; then
            printf '%s\n' "$word"
            continue
        fi
        head=${word%%'['*} tail=${word##*']'} part=${word#*'['}
        for part in $(tr , ' ' <<<"${part%%']'*}"); do
            for ((number = 10#${part%-*}; number <= 10#${part#*-}; number++)); do
                printf '%s%0*d%s\n' "$head" "$(($(wc -c <<<"${part%-*}") - 1))" "$number" "$tail"
            done
        done
    done
}
count_of() { [[ $2 =~ ^[1-9][0-9]*$ ]] || wrong "$1 takes a number from 1, not $2"; }

while [[ $# -gt 0 ]]; do
    case $1 in
    --hosts | --per-host | --hostfile | --launcher)
        [[ $# -ge 2 ]] || wrong "$1 needs a value"
        case $1 in
        --hosts) HOSTS=$2 ;;
        --per-host) count_of "$1" "$2" && PER_HOST=$2 ;;
        --hostfile) HOSTFILE=$2 ;;
        --launcher) LAUNCHER=$2 ;;
        esac
        shift 2
        ;;
    --dry-run)
        DRY_RUN=yes
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    --)
        shift
        break
        ;;
    -*) wrong "unknown option $1; see --help" ;;
    *) break ;;
    esac
done

[[ -r $HOSTFILE ]] || wrong "cannot read $HOSTFILE"
# A server without slots= has as many as Open MPI finds cores: how many GPUs it has must be said.
UNCLEAR=$(grep -Ev '^[[:space:]]*(#|$)|^[^#]*[[:space:]]slots=[1-9]' "$HOSTFILE" || true)
[[ -z $UNCLEAR ]] || wrong "$HOSTFILE: no slots=$GPUS, or as many GPUs as it has, behind ${UNCLEAR%%$'\n'*}"
LISTED=$(grep -Evc '^[[:space:]]*(#|$)' "$HOSTFILE" || true)
[[ $LISTED -gt 0 ]] || wrong "$HOSTFILE lists no server"
WHERE=(--hostfile "$HOSTFILE")
if [[ ! ${HOSTS:-$LISTED} =~ ^[0-9]+$ ]]; then
    [[ $HOSTS != stripes-alternate ]] || HOSTS=${ALTERNATE:-$(awk '!/^[[:space:]]*(#|$)/ { print $1 }' "$HOSTFILE" | paste -sd,)}
    ORDER=$(names_of "$HOSTS")
    for NAME in $ORDER; do
        awk -v name="$NAME" '$1 == name { found = 1 } END { exit !found }' "$HOSTFILE" || wrong "$HOSTFILE does not list $NAME"
    done
    TWICE=$(sort <<<"$ORDER" | uniq -d | head -1)
    [[ -z $TWICE ]] || wrong "--hosts names $TWICE twice"
    WHERE=(--host "$(while read -r NAME; do echo "$NAME:$GPUS"; done <<<"$ORDER" | paste -sd,)")
    HOSTS=$(wc -l <<<"$ORDER")
fi
HOSTS=${HOSTS:-$LISTED}
count_of --hosts "$HOSTS"
[[ $HOSTS -le $LISTED ]] || wrong "$HOSTFILE lists $LISTED servers, not $HOSTS"
((GPUS % PER_HOST == 0)) || wrong "$PER_HOST processes cannot share $GPUS GPUs evenly"

[[ $# -gt 0 ]] || set -- all_reduce_perf
if [[ $# -eq 1 && ${1##*/} == *_perf ]]; then
    set -- "$1" -b 8 -e 16G -f 2 -g "$((GPUS / PER_HOST))" -c 0
fi
read -r -a LAUNCH <<<"$LAUNCHER"

# mpirun fills servers in the order in which they are listed, so the number of processes chooses the first HOSTS of them.
COMMAND=("$MPIRUN" -np "$((HOSTS * PER_HOST))" "${WHERE[@]}" --map-by "ppr:$PER_HOST:node" --bind-to none
    "${OPTIONS[@]}" "${LAUNCH[@]}" -- "$@")
if [[ $EUID -eq 0 ]]; then
    COMMAND=("${COMMAND[0]}" --allow-run-as-root "${COMMAND[@]:1}")
fi
if [[ $DRY_RUN == yes ]]; then
    printf '%q ' "${COMMAND[@]}"
    printf '\n'
    exit 0
fi
command -v "$MPIRUN" >/dev/null 2>&1 || wrong "there is no $MPIRUN: install Open MPI, or set hosts.job.mpi_folder"
exec "${COMMAND[@]}"
