//go:build programs

// Package programs names what `go mod` is to keep: the webhook of cert-manager, a program of its own module.
package programs

import _ "github.com/cert-manager/cert-manager/cmd/webhook"
