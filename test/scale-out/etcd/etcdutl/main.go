// The part of etcdutl that restores backups, for tests, built from the module cache.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
)

func main() {
	root := &cobra.Command{Use: "etcdutl"}
	// The flag of etcdutl's own root command, which its commands read.
	root.PersistentFlags().StringVarP(&etcdutl.OutputFormat, "write-out", "w", "simple", "")
	root.AddCommand(etcdutl.NewSnapshotCommand())
	if err := root.Execute(); err != nil {
		os.Exit(1)
	}
}
