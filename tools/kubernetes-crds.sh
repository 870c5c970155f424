#!/usr/bin/env bash
# Collect the definitions (CRDs) of the Kubernetes objects that `railweave export` writes: tools/kubernetes-crds.sh DIR [CHECKOUTS]
#
# Kueue's come from its Go module. Those of the other projects come from checkouts: CHECKOUTS is a folder with a checkout of each
# project under the name of its repository. Says why a project's definitions are missing; the tests then skip its objects.
set -euo pipefail

target=${1:?usage: tools/kubernetes-crds.sh DIR [CHECKOUTS]}
checkouts=${2:-}
say() { echo "kubernetes-crds: $*" >&2; }

# Go module, version, folder of the definitions
modules=(
  "sigs.k8s.io/kueue v0.17.0 config/components/crd/bases"
)
# repository, the version that was tried, folder or file of the definitions
projects=(
  "nic-configuration-operator network-operator-v26.7.0-rc.2 config/crd/bases"
  "nvidia-k8s-ipam v0.4.0 deploy/crds"
  "kubernetes-nmstate v0.86.0 deploy/crds"
  "mpi-operator v0.8.0 manifests/base/kubeflow.org_mpijobs.yaml"
  "network-attachment-definition-client v1.7.7 artifacts/networks-crd.yaml"
)

copy() {
  local name=$1 version=$2 from=$3 file copied=0
  for file in "$from" "$from"/*.yaml; do
    if [ -f "$file" ] && grep -q '^kind: CustomResourceDefinition' "$file"; then
      mkdir -p "$target"
      install -m 644 "$file" "$target/$name-${file##*/}"
      copied=$((copied + 1))
    fi
  done
  if [ "$copied" = 0 ]; then
    say "skipped: $name $version has no definitions in $from"
  else
    echo "kubernetes-crds: $name $version: $copied files"
  fi
}

for row in "${modules[@]}"; do
  read -r module version folder <<<"$row"
  name=${module##*/}
  if compgen -G "$target/$name-*.yaml" >/dev/null; then
    echo "kubernetes-crds: $name is there already"
  elif ! command -v go >/dev/null; then
    say "skipped: $name, because this machine has no go"
  elif ! answer=$(cd / && go mod download -json "$module@$version" 2>&1); then
    say "skipped: $module@$version could not be downloaded: $(sed -n 's/.*"Error": "\(.*\)".*/\1/p' <<<"$answer" | cut -c1-200)"
  else
    copy "$name" "$version" "$(sed -n 's/^.*"Dir": "\(.*\)".*$/\1/p' <<<"$answer")/$folder"
  fi
done
for row in "${projects[@]}"; do
  read -r name version folder <<<"$row"
  if compgen -G "$target/$name-*.yaml" >/dev/null; then
    echo "kubernetes-crds: $name is there already"
  elif [ -z "$checkouts" ]; then
    say "skipped: $name: give a folder that has a checkout of it ($version was tried)"
  elif [ -d "$checkouts/$name" ]; then
    copy "$name" "$version" "$checkouts/$name/$folder"
  else
    say "skipped: $checkouts has no checkout $name ($version was tried)"
  fi
done
