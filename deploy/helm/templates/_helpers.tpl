{{- define "headgate.name" -}}
{{- if contains "headgate" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-headgate" (.Release.Name | trunc 41 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "headgate.selector" -}}
app.kubernetes.io/name: headgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "headgate.labels" -}}
{{ include "headgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "headgate.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{ .Values.image.repository }}:{{ $tag }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{- define "headgate.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ include "headgate.name" . }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{- define "headgate.isEmbedded" -}}
{{- if eq .Values.mode "embedded" }}true{{ end -}}
{{- end -}}

{{/* A volume for each node. */}}
{{- define "headgate.isStateful" -}}
{{- if or .Values.persistence.enabled (eq .Values.mode "embedded") }}true{{ end -}}
{{- end -}}

{{- define "headgate.isScaled" -}}
{{- if and .Values.autoscaling.enabled (ne .Values.mode "embedded") }}true{{ end -}}
{{- end -}}

{{/* In embedded mode the database is a file. */}}
{{- define "headgate.secretVariables" -}}
{{- $names := .Values.secret.variables -}}
{{- if include "headgate.isEmbedded" . -}}
{{- $names = without $names "DATABASE_URL" -}}
{{- end -}}
{{- $names | toJson -}}
{{- end -}}

{{/* Longer than preStop, limits.drain_delay, limits.drain and the settlement after them. */}}
{{- define "headgate.graceSeconds" -}}
{{- $limits := .Values.config.limits | default dict -}}
{{- $delay := ternary 5 $limits.drain_delay (kindIs "invalid" $limits.drain_delay) -}}
{{- $drain := ternary 25 $limits.drain (kindIs "invalid" $limits.drain) -}}
{{- ceil (addf .Values.preStopSeconds $delay $drain 15) -}}
{{- end -}}

{{- define "headgate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "headgate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "headgate.environment" -}}
- { name: HOST, value: 0.0.0.0 }
- { name: PORT, value: "8080" }
- { name: HEADGATE_DATA_DIR, value: /data }
{{- range $name, $value := .Values.env }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- range include "headgate.secretVariables" . | fromJsonArray }}
- { name: {{ . }}_FILE, value: /run/secrets/headgate/{{ . }} }
{{- end }}
{{- end -}}

{{- define "headgate.mounts" -}}
- { name: data, mountPath: /data }
- { name: tmp, mountPath: /tmp }
{{- if include "headgate.secretVariables" . | fromJsonArray }}
- { name: secrets, mountPath: /run/secrets/headgate, readOnly: true }
{{- end }}
{{- end -}}

{{- define "headgate.volumes" -}}
- name: tmp
  emptyDir: {}
{{- with include "headgate.secretVariables" . | fromJsonArray }}
- name: secrets
  secret:
    secretName: {{ $.Values.secret.name }}
    defaultMode: 0440
    items:
      {{- range . }}
      - { key: {{ . }}, path: {{ . }} }
      {{- end }}
{{- end }}
{{- end -}}
