// An aggregated API server of Kubernetes' own making, k8s.io/sample-apiserver, beside an etcd in the same process. The
// first argument is the folder of etcd; the others are the server's.
package main

import (
	"log"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	"k8s.io/sample-apiserver/pkg/cmd/server"
)

func main() {
	config := embed.NewConfig()
	config.Dir = os.Args[1]
	config.LogLevel = "error"
	anyPort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.AdvertiseClientUrls = anyPort, anyPort
	config.ListenPeerUrls, config.AdvertisePeerUrls = anyPort, anyPort
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	store, err := embed.StartEtcd(config)
	if err != nil {
		log.Fatal(err)
	}
	<-store.Server.ReadyNotify()
	address := "http://" + store.Clients[0].Addr().String()
	os.Args = append([]string{os.Args[0], "--etcd-servers=" + address}, os.Args[2:]...)
	options := server.NewWardleServerOptions(os.Stdout, os.Stderr)
	os.Exit(cli.Run(server.NewCommandStartWardleServer(genericapiserver.SetupSignalContext(), options, false)))
}
