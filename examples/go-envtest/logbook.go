// Package logbook has a reconciler that gives every ConfigMap with the label boat=yes a logbook.
package logbook

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Reconciler makes logbooks.
type Reconciler struct{ client.Client }

// Reconcile makes the logbook of one boat.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var boat corev1.ConfigMap
	if err := r.Get(ctx, request.NamespacedName, &boat); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if boat.Labels["boat"] != "yes" {
		return ctrl.Result{}, nil
	}
	logbook := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: boat.Name + "-logbook", Namespace: boat.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, &logbook, func() error {
		logbook.Data = map[string]string{"berth": boat.Data["berth"]}
		return controllerutil.SetControllerReference(&boat, &logbook, r.Scheme())
	})
	return ctrl.Result{}, err
}

// SetUp adds the reconciler to a manager.
func (r *Reconciler) SetUp(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Owns(&corev1.ConfigMap{}).Complete(r)
}
