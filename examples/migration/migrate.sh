#!/usr/bin/env bash
# Moves objects of namespaces from one cluster to another: migrate.sh FROM-KUBECONFIG TO-KUBECONFIG NAMESPACE...
set -euo pipefail
if [[ $# -lt 3 ]]; then
  echo "usage: migrate.sh FROM-KUBECONFIG TO-KUBECONFIG NAMESPACE..." >&2
  exit 2
fi
from=$1
to=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Definitions come first, since their objects need them.
binnacle export customresourcedefinitions --kubeconfig "$from" >"$work/definitions.yaml"
binnacle import "$work/definitions.yaml" --kubeconfig "$to"
for namespace in "$@"; do
  # A namespace is no object of itself.
  binnacle get namespaces "$namespace" -o yaml --kubeconfig "$from" >"$work/namespace.yaml"
  binnacle import "$work/namespace.yaml" --kubeconfig "$to"
  binnacle export --kubeconfig "$from" -n "$namespace" >"$work/$namespace.yaml"
  binnacle import "$work/$namespace.yaml" --kubeconfig "$to"
  echo "what differs in $namespace:"
  binnacle diff -f "$work/$namespace.yaml" --kubeconfig "$to" -n "$namespace" && echo "nothing"
done
