#!/bin/sh
# Prometheus and an OpenTelemetry Collector of few parts, built from the Go module proxy: otlp_programs.sh FOLDER. Needs Go 1.25, 3 GB, 20 minutes.
# The Prometheus of Debian has no OTLP receiver, and Debian has no Collector.
set -eu
folder=$1 prometheus=v0.313.5 collector=v0.165.0 # v0.313 is Prometheus 3.13
[ -e "$folder/prometheus" ] && [ -e "$folder/otelcol" ] && exit 0
command -v go > /dev/null || { echo "there is no go" >&2; exit 1; }
mkdir -p "$folder/build"
cd "$folder/build"
export GOPATH="$PWD/path" GOCACHE="$PWD/cache" GOFLAGS="-p=1 -buildvcs=false -mod=mod -modcacherw" GO111MODULE=on
printf 'module trial\n\ngo 1.25\n\nrequire github.com/prometheus/prometheus %s\n' "$prometheus" > go.mod
nice -n 19 go build -tags remove_all_sd -o "$folder/prometheus" github.com/prometheus/prometheus/cmd/prometheus >&2
cat > builder.yaml << END
dist: {name: otelcol, output_path: $PWD/otelcol}
receivers: [{gomod: go.opentelemetry.io/collector/receiver/otlpreceiver $collector}]
exporters: [{gomod: go.opentelemetry.io/collector/exporter/otlphttpexporter $collector}]
END
GOFLAGS="-p=1 -buildvcs=false -modcacherw" nice -n 19 go run "go.opentelemetry.io/collector/cmd/builder@$collector" --skip-strict-versioning --config builder.yaml >&2
mv otelcol/otelcol "$folder/otelcol"
rm -rf "$folder/build"
