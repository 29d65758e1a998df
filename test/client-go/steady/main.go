// Clients of client-go with its usual settings, which write, read and list config maps without a pause until the standard
// input ends, and watch them. Then one line of JSON says how many calls succeeded, and each error.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the file")
	namespace := flag.String("namespace", "default", "the namespace of the config maps")
	clients := flag.Int("clients", 8, "the number of clients, each with connections of its own")
	flag.Parse()
	var calls atomic.Int64
	var lock sync.Mutex
	errors := []string{}
	note := func(doing string, err error) bool {
		if err == nil {
			calls.Add(1)
			return true
		}
		lock.Lock()
		defer lock.Unlock()
		errors = append(errors, fmt.Sprintf("%s %s: %v", time.Now().Format("15:04:05.000"), doing, err))
		return false
	}
	done := make(chan struct{})
	var running sync.WaitGroup
	for id := 0; id < *clients; id++ {
		config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
		if err != nil {
			panic(err)
		}
		config.QPS = -1
		// Clients with unlike configurations do not share a connection.
		config.UserAgent = fmt.Sprintf("steady-%d", id)
		config.Dial = dialer()
		api := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(*namespace)
		running.Add(1)
		go func() {
			defer running.Done()
			ctx := context.Background()
			for at := 0; ; at++ {
				select {
				case <-done:
					return
				default:
				}
				name := fmt.Sprintf("steady-%d-%d", id, at)
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"at": "0"}}
				object, err := api.Create(ctx, object, metav1.CreateOptions{})
				if !note("create "+name, err) {
					continue
				}
				object.Data = map[string]string{"at": "1"}
				_, err = api.Update(ctx, object, metav1.UpdateOptions{})
				note("update "+name, err)
				_, err = api.Get(ctx, name, metav1.GetOptions{})
				note("get "+name, err)
				_, err = api.List(ctx, metav1.ListOptions{Limit: 20})
				note("list", err)
				note("delete "+name, api.Delete(ctx, name, metav1.DeleteOptions{}))
				time.Sleep(20 * time.Millisecond)
			}
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	close(done)
	running.Wait()
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"calls": calls.Load(), "errors": errors})
}
