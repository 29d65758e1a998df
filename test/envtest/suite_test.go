// A suite as projects of controller-runtime have it: a control plane from KUBEBUILDER_ASSETS, definitions installed,
// a manager with a controller, users with rights of their own.
package envtest

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// copier gives every ConfigMap that has a label a Secret of its name.
type copier struct{ client.Client }

func (c *copier) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var source corev1.ConfigMap
	if err := c.Get(ctx, req.NamespacedName, &source); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if source.Labels["copy"] != "yes" {
		return ctrl.Result{}, nil
	}
	secret := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: source.Name, Namespace: source.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, c.Client, &secret, func() error {
		secret.StringData = source.Data
		return controllerutil.SetControllerReference(&source, &secret, c.Scheme())
	})
	return ctrl.Result{}, err
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestSuite(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	environment := &envtest.Environment{CRDDirectoryPaths: []string{"crds"}, ErrorIfCRDPathMissing: true}
	config, err := environment.Start()
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	}()

	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:         scheme.Scheme,
		Metrics:        metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "copier", LeaderElectionNamespace: "default",
	})
	if err != nil {
		t.Fatalf("manager: %v", err)
	}
	if err := ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).
		Complete(&copier{manager.GetClient()}); err != nil {
		t.Fatalf("controller: %v", err)
	}
	go func() {
		if err := manager.Start(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	}()

	direct, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatalf("client: %v", err)
	}
	source := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", Labels: map[string]string{"copy": "yes"}},
		Data:       map[string]string{"k": "v"},
	}
	if err := direct.Create(ctx, source); err != nil {
		t.Fatalf("create: %v", err)
	}
	var copied corev1.Secret
	eventually(t, "copy", func() error { return direct.Get(ctx, client.ObjectKeyFromObject(source), &copied) })
	if string(copied.Data["k"]) != "v" || !metav1.IsControlledBy(&copied, source) {
		t.Errorf("the copy is %v of %v", copied.Data, copied.OwnerReferences)
	}

	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if err := direct.Create(ctx, service); err != nil || service.Spec.ClusterIP == "" {
		t.Errorf("a service has the address %q: %v", service.Spec.ClusterIP, err)
	}

	// Pods need no service account: the plugin that asks for one is off, as in every envtest suite.
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if err := direct.Create(ctx, pod); err != nil {
		t.Errorf("pod: %v", err)
	}

	user, err := environment.AddUser(envtest.User{Name: "guest", Groups: []string{"guests"}}, nil)
	if err != nil {
		t.Fatalf("user: %v", err)
	}
	guest, err := client.New(user.Config(), client.Options{})
	if err != nil {
		t.Fatalf("guest: %v", err)
	}
	if err := guest.Get(ctx, client.ObjectKeyFromObject(source), source); !apierrors.IsForbidden(err) {
		t.Errorf("a guest reads: %v", err)
	}
	if kubeconfig, err := user.KubeConfig(); err != nil || len(kubeconfig) == 0 {
		t.Errorf("kubeconfig: %v", err)
	}
}
