{{- define "relet.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Whether a controller has granted ConfigMaps of kube-system: then its right to do so stays. */ -}}
{{- define "relet.grantsInKubeSystem" -}}
{{- range (lookup "rbac.authorization.k8s.io/v1" "Role" "kube-system" "").items -}}
{{- if eq (dig "metadata" "labels" "relet.dev/grant" "" .) "true" -}}yes{{- end -}}
{{- end -}}
{{- end -}}
