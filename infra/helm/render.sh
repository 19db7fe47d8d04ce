#!/bin/bash
# Renders the chart with each file of values/ into rendered/, which helm.test.ts reads, after `helm lint`. Run it after every change of the
# chart, with helm 3 or newer on the PATH. With kubeconform there, and SCHEMAS naming a place of Kubernetes' JSON schemas as its
# -schema-location does, it also checks every object of Kubernetes itself.
set -euo pipefail
export LC_ALL=C # the order of the files
cd "$(dirname "${BASH_SOURCE[0]}")"
about=(gatepost --kube-version 1.34.0 --namespace gatepost)
mkdir -p rendered
for file in values/*.yaml; do
  name=$(basename "$file")
  helm lint --strict --quiet "${about[@]}" --values "$file"
  {
    # A release changes the appVersion alone.
    echo "# $(cat "$file" <(sed '/^appVersion:/d' gatepost/Chart.yaml) gatepost/values.yaml gatepost/values.schema.json gatepost/templates/* | sha256sum | cut --characters=1-64)"
    helm template gatepost "${about[@]}" --values "$file"
  } > "rendered/$name"
  if command -v kubeconform > /dev/null && [ -n "${SCHEMAS:-}" ]; then
    kubeconform -strict -summary -schema-location "$SCHEMAS" -skip ScaledObject,TriggerAuthentication,ServiceMonitor,PrometheusRule "rendered/$name"
  fi
done
