/**
 * Binding: assigns a pod to a node. Schedulers post it to `pods/NAME/binding` or `bindings`. Source: `BindingREST` in
 * upstream's `pkg/registry/core/pod/storage`.
 */
import type { Binding, ObjectReference, Pod } from "#api/core/v1.ts";
import type { Action } from "#meta/action.ts";
import { aggregate, notSupported, printFieldError, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { badRequest, conflict, success, unclassified } from "#meta/status-error.ts";
import type { Store } from "#registry/store.ts";
import { changeStored } from "./change-stored.ts";
import { withPodCondition } from "./pod-condition.ts";

interface PodBindingOptions {
  pods(): Store;
  /** Returns the present time in the format of object fields. */
  now(): string;
}

export const podBinding =
  ({ pods, now }: PodBindingOptions): Action =>
  async ({ context, namespace, name: pathName, object, dryRun, admit }) => {
    const { name = "", uid = "", resourceVersion = "" } = object.metadata;
    if (pathName !== "" && pathName !== name) throw badRequest("name in URL does not match name in Binding object");
    const binding = object as unknown as Binding; // by its schema
    checkTarget(binding.target);
    await admit(object);
    if (name === "") throw badRequest("Name parameter required.");
    await changeStored<Pod>(pods(), namespace, name, { context, subresource: "binding", dryRun }, (pod) => {
      checkPrecondition(pod, "UID", uid, pod.metadata.uid);
      checkPrecondition(pod, "ResourceVersion", resourceVersion, pod.metadata.resourceVersion);
      return bound(pod, binding, now());
    });
    return success(201);
  };

function checkTarget({ kind = "", name = "" }: ObjectReference): void {
  const errors = [
    ...(kind === "" || kind === "Node"
      ? []
      : [notSupported(FieldPath.of("target", "kind"), kind, ["Node", "<empty>"])]),
    ...(name === "" ? [required(FieldPath.of("target", "name"))] : []),
  ].map(printFieldError);
  // Upstream: the message is the list of findings, without a reason.
  if (errors.length > 0) throw unclassified(aggregate(errors));
}

function checkPrecondition(pod: Pod, what: string, wanted: string, actual = ""): void {
  if (wanted === "" || wanted === actual) return;
  const reason = `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${actual}`;
  throw conflict({ group: "", resource: "pods" }, pod.metadata.name ?? "", reason);
}

function bound(pod: Pod, binding: Binding, now: string): Pod {
  const { name = "", deletionTimestamp, annotations } = pod.metadata;
  const { nodeName = "", schedulingGates = [] } = pod.spec;
  const refuse = (reason: string): never => {
    throw conflict({ group: "", resource: "pods/binding" }, name, `pod ${name} ${reason}`);
  };
  if (deletionTimestamp !== undefined) refuse("is being deleted, cannot be assigned to a host");
  if (nodeName !== "") refuse(`is already assigned to node "${nodeName}"`);
  if (schedulingGates.length > 0) refuse("has non-empty .spec.schedulingGates");
  const added = binding.metadata.annotations;
  const metadata = added === undefined ? pod.metadata : { ...pod.metadata, annotations: { ...annotations, ...added } };
  const next = { ...pod, metadata, spec: { ...pod.spec, nodeName: binding.target.name ?? "" } };
  return withPodCondition(next, { type: "PodScheduled", status: "True" }, now);
}
