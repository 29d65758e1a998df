// Command truth prints what etcd commits under a prefix, one JSON line for each change, and lines that say up to which
// revision everything was printed. It has a watch on each member by itself, so that the stop of a member costs nothing;
// readers drop what they know already. It ends when its standard input does.
//
// Usage: truth PREFIX REVISION ENDPOINT...
package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

type line struct {
	// Member is the endpoint that told it.
	Member string `json:"member"`
	// Upto is the last revision of which everything was told, in a line without a change.
	Upto     int64  `json:"upto,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	Key      string `json:"key,omitempty"`
	// Value is absent when the key was deleted.
	Value string `json:"value,omitempty"`
	// Lost is the reason why changes may be missing.
	Lost string `json:"lost,omitempty"`
}

var (
	mutex   sync.Mutex
	encoder = json.NewEncoder(os.Stdout)
)

func tell(l line) {
	mutex.Lock()
	defer mutex.Unlock()
	if err := encoder.Encode(l); err != nil {
		os.Exit(1)
	}
}

func follow(ctx context.Context, endpoint, prefix string, next int64) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            []string{endpoint},
		DialKeepAliveTime:    2 * time.Second,
		DialKeepAliveTimeout: 2 * time.Second,
	})
	if err != nil {
		tell(line{Member: endpoint, Lost: err.Error()})
		return
	}
	defer client.Close()
	for ctx.Err() == nil {
		watching, cancel := context.WithCancel(ctx)
		options := []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithRev(next),
			clientv3.WithProgressNotify()}
		go askForProgress(watching, client)
		for answer := range client.Watch(watching, prefix, options...) {
			if answer.CompactRevision != 0 {
				tell(line{Member: endpoint, Lost: "compacted"})
				next = answer.CompactRevision
				break
			}
			if answer.Err() != nil {
				break
			}
			for _, event := range answer.Events {
				l := line{Member: endpoint, Revision: event.Kv.ModRevision, Key: string(event.Kv.Key)}
				if event.Type == clientv3.EventTypePut {
					l.Value = string(event.Kv.Value)
				}
				tell(l)
				next = event.Kv.ModRevision + 1
			}
			if answer.IsProgressNotify() && answer.Header.Revision >= next-1 {
				next = answer.Header.Revision + 1
				tell(line{Member: endpoint, Upto: answer.Header.Revision})
			}
		}
		cancel()
		time.Sleep(200 * time.Millisecond)
	}
}

func askForProgress(ctx context.Context, client *clientv3.Client) {
	for ctx.Err() == nil {
		time.Sleep(300 * time.Millisecond)
		asking, cancel := context.WithTimeout(ctx, 2*time.Second)
		_ = client.RequestProgress(asking)
		cancel()
	}
}

func main() {
	prefix := os.Args[1]
	from, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err != nil {
		os.Exit(2)
	}
	ctx, cancel := context.WithCancel(context.Background())
	for _, endpoint := range os.Args[3:] {
		go follow(ctx, endpoint, prefix, from)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
}
