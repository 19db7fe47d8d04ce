#!/bin/bash
# Lints the chart and renders it with each file of values/ into rendered/, which helm.test.ts reads. Run it after every change to the chart,
# with helm 3 or newer on the PATH. If kubeconform is there too, and SCHEMAS is a -schema-location for it, it also validates all objects of
# Kubernetes' own kinds.
set -euo pipefail
export LC_ALL=C # the order of the files
cd "$(dirname "${BASH_SOURCE[0]}")"
about=(gatepost --kube-version 1.34.0 --namespace gatepost)
mkdir -p rendered
for file in values/*.yaml; do
  name=$(basename "$file")
  helm lint --strict --quiet "${about[@]}" --values "$file"
  {
    # Without the appVersion, the only thing that a release changes.
    echo "# $(cat "$file" <(sed '/^appVersion:/d' gatepost/Chart.yaml) gatepost/values.yaml gatepost/values.schema.json gatepost/templates/* | sha256sum | cut --characters=1-64)"
    helm template gatepost "${about[@]}" --values "$file"
  } > "rendered/$name"
  if command -v kubeconform > /dev/null && [ -n "${SCHEMAS:-}" ]; then
    kubeconform -strict -summary -schema-location "$SCHEMAS" -skip ScaledObject,TriggerAuthentication,ServiceMonitor,PrometheusRule "rendered/$name"
  fi
done
