// An informer of client-go in a process of its own, to compare with the library's under the same faults.
//
// It follows the config maps of a namespace. For each line on its standard input it prints one line of JSON: the present
// objects, by name, with their versions, and the UIDs of all objects whose addition or deletion it was told.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

type state struct {
	Synced  bool              `json:"synced"`
	Objects map[string]string `json:"objects"`
	Added   map[string]bool   `json:"added"`
	Deleted map[string]bool   `json:"deleted"`
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the file")
	namespace := flag.String("namespace", "", "the namespace that is followed")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		panic(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(
		kubernetes.NewForConfigOrDie(config), 0, informers.WithNamespace(*namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	var lock sync.Mutex
	added, deleted := map[string]bool{}, map[string]bool{}
	note := func(uids map[string]bool, object any) {
		if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = last.Obj
		}
		lock.Lock()
		defer lock.Unlock()
		uids[string(object.(*corev1.ConfigMap).UID)] = true
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { note(added, object) },
		UpdateFunc: func(before, after any) {
			// An object that was deleted and created again in between is told as an update.
			if before.(*corev1.ConfigMap).UID != after.(*corev1.ConfigMap).UID {
				note(deleted, before)
				note(added, after)
			}
		},
		DeleteFunc: func(object any) { note(deleted, object) },
	})
	if err != nil {
		panic(err)
	}
	stop := make(chan struct{})
	factory.Start(stop)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		time.Sleep(50 * time.Millisecond)
		objects := map[string]string{}
		for _, object := range informer.GetStore().List() {
			one := object.(*corev1.ConfigMap)
			objects[one.Name] = string(one.UID) + " " + one.ResourceVersion
		}
		lock.Lock()
		line, err := json.Marshal(state{informer.HasSynced(), objects, added, deleted})
		lock.Unlock()
		if err != nil {
			panic(err)
		}
		os.Stdout.Write(append(line, '\n'))
	}
}
