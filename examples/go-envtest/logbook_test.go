package logbook

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func TestLogbooks(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme.Scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Reconciler{manager.GetClient()}).SetUp(manager); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})

	direct, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	boat := corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "ketch", Namespace: "default", Labels: map[string]string{"boat": "yes"}},
		Data:       map[string]string{"berth": "A7"},
	}
	if err := direct.Create(ctx, &boat); err != nil {
		t.Fatal(err)
	}
	var logbook corev1.ConfigMap
	key := client.ObjectKey{Namespace: "default", Name: "ketch-logbook"}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return direct.Get(ctx, key, &logbook) == nil && logbook.Data["berth"] == "A7", nil
	})
	if err != nil {
		t.Fatalf("there is no logbook: %v", err)
	}
	if len(logbook.OwnerReferences) != 1 || logbook.OwnerReferences[0].UID != boat.UID {
		t.Errorf("the logbook belongs to %v", logbook.OwnerReferences)
	}
}
