{{- define "gatepost.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Selects the pods of a part, so it must never change. (dict "root" $ "part" name) */}}
{{- define "gatepost.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "gatepost.labels" -}}
{{ include "gatepost.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* (dict "root" $ "part" name "digest" text) */}}
{{- define "gatepost.image" -}}
{{- $at := printf "%s/%s" .root.Values.image.repository .part }}
{{- if .digest }}{{ $at }}@{{ .digest }}{{ else }}{{ $at }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "gatepost.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "gatepost.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* A value as text. Helm holds numbers as float64, and writes a million as 1e+06, which no service reads as a whole number. */}}
{{- define "gatepost.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* A variable NAME_FILE for each secret. */}}
{{- define "gatepost.secretEnv" -}}
{{- range $variable, $key := . }}
- name: {{ $variable }}_FILE
  value: /run/secrets/gatepost/{{ $key }}
{{- end }}
{{- end }}

{{/* (dict "root" $ "keys" list) */}}
{{- define "gatepost.secretVolume" -}}
- name: secrets
  secret:
    secretName: {{ .root.Values.existingSecret }}
    defaultMode: 0440
    items:
      {{- range .keys | uniq | sortAlpha }}
      - { key: {{ . }}, path: {{ . }} }
      {{- end }}
{{- end }}

{{/*
  One of the three services: its Deployment, Services, PodDisruptionBudget, HorizontalPodAutoscaler and ServiceMonitor.
  (dict "root" $ "part" name "values" values "ports" (dict …) "env" list of name and value, "graceSeconds" "replicas" or nil)
*/}}
{{- define "gatepost.service" -}}
{{- $root := .root }}
{{- $name := printf "%s-%s" (include "gatepost.fullname" $root) .part }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels: {{- include "gatepost.labels" . | nindent 4 }}
spec:
  {{- if not .scaled }}
  replicas: {{ .values.replicas }}
  {{- end }}
  selector:
    matchLabels: {{- include "gatepost.selector" . | nindent 6 }}
  strategy:
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  template:
    metadata:
      labels: {{- include "gatepost.labels" . | nindent 8 }}
      {{- with .values.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "gatepost.fullname" $root }}
      {{- include "gatepost.podSecurity" $root | nindent 6 }}
      # Longer than the service's own deadline (packages/contracts/src/stopping.ts).
      terminationGracePeriodSeconds: {{ .graceSeconds }}
      {{- if $root.Values.topologySpread.enabled }}
      topologySpreadConstraints:
        {{- $labels := include "gatepost.selector" . }}
        {{- range $root.Values.topologySpread.keys }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: {{ $root.Values.topologySpread.whenUnsatisfiable }}
          labelSelector:
            matchLabels: {{- $labels | nindent 14 }}
          matchLabelKeys: [pod-template-hash]
        {{- end }}
      {{- end }}
      {{- with .values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .part }}
          image: {{ include "gatepost.image" (dict "root" $root "part" .part "digest" .values.digest) }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          securityContext: {{- include "gatepost.containerSecurity" $root | nindent 12 }}
          ports:
            {{- range $port, $number := .ports }}
            - { name: {{ $port }}, containerPort: {{ $number }} }
            {{- end }}
          env:
            {{- range $variable, $value := .env }}
            - name: {{ $variable }}
              value: {{ include "gatepost.text" $value | quote }}
            {{- end }}
            {{- range $variable, $value := .values.env }}
            - name: {{ $variable }}
              value: {{ include "gatepost.text" $value | quote }}
            {{- end }}
            {{- include "gatepost.secretEnv" .values.fromSecret | nindent 12 }}
          # Before the ops port opens, the service waits up to START_TIMEOUT_MS (60 s) for stores that are away.
          startupProbe: { httpGet: { path: /livez, port: ops }, periodSeconds: 3, timeoutSeconds: 5, failureThreshold: 40 }
          livenessProbe: { httpGet: { path: /livez, port: ops }, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 }
          readinessProbe: { httpGet: { path: "/readyz?exclude=stores", port: ops }, periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 2 }
          {{- with .values.preStopSeconds }}
          lifecycle: { preStop: { sleep: { seconds: {{ . }} } } }
          {{- end }}
          resources: {{- toYaml .values.resources | nindent 12 }}
          volumeMounts:
            - { name: secrets, mountPath: /run/secrets/gatepost, readOnly: true }
            - { name: tmp, mountPath: /tmp }
            {{- if and .seeded $root.Values.seed.existingSecret }}
            - { name: seed, mountPath: /run/seed, readOnly: true }
            {{- end }}
            {{- with .values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        {{- include "gatepost.secretVolume" (dict "root" $root "keys" (values .values.fromSecret)) | nindent 8 }}
        - name: tmp
          emptyDir: { sizeLimit: 64Mi }
        {{- if and .seeded $root.Values.seed.existingSecret }}
        - name: seed
          secret: { secretName: {{ $root.Values.seed.existingSecret }}, defaultMode: 0440 }
        {{- end }}
        {{- with .values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}-ops
  labels: {{- include "gatepost.labels" . | nindent 4 }}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {{- include "gatepost.selector" . | nindent 4 }}
  ports:
    - { name: ops, port: {{ .ports.ops }}, targetPort: ops }
{{- if .ports.http }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels: {{- include "gatepost.labels" . | nindent 4 }}
  {{- with .values.service.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ .values.service.type }}
  selector: {{- include "gatepost.selector" . | nindent 4 }}
  ports:
    - { name: http, port: {{ .values.service.port }}, targetPort: http }
{{- end }}
{{- if $root.Values.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels: {{- include "gatepost.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ $root.Values.podDisruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "gatepost.selector" . | nindent 6 }}
{{- end }}
{{- if and .values.autoscaling (.values.autoscaling).enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  labels: {{- include "gatepost.labels" . | nindent 4 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ $name }} }
  minReplicas: {{ .values.autoscaling.minReplicas }}
  maxReplicas: {{ .values.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: {{ .values.autoscaling.cpuPercent }} } }
  behavior:
    scaleDown: { stabilizationWindowSeconds: 300 }
{{- end }}
{{- if $root.Values.serviceMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ $name }}
  labels:
    {{- include "gatepost.labels" . | nindent 4 }}
    {{- with $root.Values.serviceMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  # The alerts expect the component's name as the job's.
  jobLabel: app.kubernetes.io/component
  selector:
    matchLabels: {{- include "gatepost.selector" . | nindent 6 }}
  endpoints:
    - { port: ops, path: /metrics, interval: {{ $root.Values.serviceMonitor.interval }} }
{{- end }}
{{- end }}
