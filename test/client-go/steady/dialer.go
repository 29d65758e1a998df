package main

import (
	"context"
	"net"
	"time"
)

// dialer returns client-go's own way to connect. A function of its own keeps client-go from sharing connections.
func dialer() func(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
}
