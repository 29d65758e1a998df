//go:build programs

// Package programs names what `go mod` is to keep: the programs of a control plane beside the API server.
package programs

import (
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubemark"
)
