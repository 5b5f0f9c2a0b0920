#!/bin/sh
# sh tests/deploy/check.sh ALIGND PROMTOOL KUBECTL
# Validates what docker/ deploys, each file by the program that will read it, or by its published schema.
set -eu
alignd=$1 promtool=$2 kubectl=$3

step() {
    printf '== %s\n' "$*"
    "$@"
}

step haproxy -c -f docker/haproxy.cfg
step sh tests/deploy/haproxy.sh "$alignd"
step "$promtool" check config docker/prometheus.yml
step "$promtool" test rules tests/deploy/alerts.yml
step node tests/deploy/queries.mjs "$alignd" "$promtool"
step node tests/deploy/dashboard.mjs
step docker-compose -f docker/compose.yaml config --quiet
step docker-compose -f docker/compose.yaml -f docker/compose.get.yaml config --quiet
step env KEYS=keys docker-compose -f docker/compose.yaml -f docker/compose.keys.yaml config --quiet
step node tests/deploy/memory.mjs "$alignd" docker/compose.yaml
# FOLDER KIND...: that of docker/kubernetes, and the kinds of manifests that it has besides
kubernetes() {
    folder=$1
    shift
    echo "== $kubectl kustomize $folder"
    "$kubectl" kustomize "$folder" >build/kubernetes.yaml
    step node tests/deploy/kubernetes.mjs "$alignd" "$@" <build/kubernetes.yaml
}
kubernetes docker/kubernetes
kubernetes docker/kubernetes/bulk
kubernetes docker/kubernetes/overlays/models
kubernetes docker/kubernetes/overlays/get
kubernetes docker/kubernetes/overlays/ingress Ingress
kubernetes docker/kubernetes/overlays/monitoring Service ServiceMonitor
