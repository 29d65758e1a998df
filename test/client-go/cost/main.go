// An informer of client-go in a process of its own, whose processor time and memory `npm run bench -- client` compares
// with those of the library's (bench/client-programs/informer.ts).
//
// It prints "synced" and the number of objects when it has all objects, and "last" when an object with this name comes.
package main

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig, namespace, resource := os.Args[1], os.Args[2], os.Args[3]
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		panic(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(
		kubernetes.NewForConfigOrDie(config), 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	if resource == "pods" {
		informer = factory.Core().V1().Pods().Informer()
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		if object.(v1.Object).GetName() == "last" {
			fmt.Println("last")
		}
	}})
	if err != nil {
		panic(err)
	}
	stop := make(chan struct{})
	factory.Start(stop)
	if !cache.WaitForCacheSync(stop, informer.HasSynced) {
		panic("the informer has ended")
	}
	fmt.Println("synced", len(informer.GetStore().ListKeys()))
	<-stop
}
