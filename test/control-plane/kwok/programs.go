//go:build programs

// Package programs names what `go mod` is to keep: kwok, whose nodes and pods only pretend to run.
package programs

import _ "sigs.k8s.io/kwok/cmd/kwok"
