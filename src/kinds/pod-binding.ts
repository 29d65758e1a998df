/**
 * Binding: puts a pod onto a node. What a scheduler posts to `pods/NAME/binding`, or to `bindings`.
 * Source: `BindingREST` in upstream's `pkg/registry/core/pod/storage`.
 */
import type { Action } from "#meta/action.ts";
import { notSupported, printFieldError, required } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { badRequest, conflict, success, unclassified } from "#meta/status-error.ts";
import type { Store } from "#registry/store.ts";
import { type Json, listField, noFields, objectField, textField } from "./json-edit.ts";
import { withCondition } from "./pod-condition.ts";

export interface PodBindingOptions {
  pods(): Store;
  /** The time, as objects say it. */
  now(): string;
}

export const podBinding =
  ({ pods, now }: PodBindingOptions): Action =>
  async ({ context, namespace, name: pathName, object, dryRun, admitted }) => {
    const { name = "", uid = "", resourceVersion = "" } = object.metadata;
    if (pathName === "" && name === "") throw badRequest("Name parameter required.");
    if (pathName !== "" && pathName !== name) throw badRequest("name in URL does not match name in Binding object");
    const target = objectField(object, "target") ?? noFields;
    checkTarget(target);
    await admitted(object);
    await pods().update(
      namespace,
      name,
      { context, subresource: "binding", dryRun },
      {
        transform(current) {
          if (current === undefined) throw new Error("a pod is bound, never made");
          checkPrecondition(current, "UID", uid, current.metadata.uid);
          checkPrecondition(current, "ResourceVersion", resourceVersion, current.metadata.resourceVersion);
          return bound(current, object, textField(target, "name"), now());
        },
        allowCreate: false,
        uidIsPrecondition: false,
      },
    );
    return success(201);
  };

function checkTarget(target: Json): void {
  const kind = textField(target, "kind");
  const errors = [
    ...(kind === "" || kind === "Node" ? [] : [notSupported("target.kind", kind, ["Node", "<empty>"])]),
    ...(textField(target, "name") === "" ? [required("target.name")] : []),
  ].map(printFieldError);
  // Upstream: the findings as they are, without a reason.
  if (errors.length > 0) throw unclassified(errors.length === 1 ? errors[0]! : `[${errors.join(", ")}]`);
}

function checkPrecondition(pod: Unstructured, what: string, wanted: string, actual = ""): void {
  if (wanted === "" || wanted === actual) return;
  const reason = `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${actual}`;
  throw conflict({ group: "", resource: "pods" }, pod.metadata.name ?? "", reason);
}

function bound(pod: Unstructured, binding: Unstructured, node: string, now: string): Unstructured {
  const { name = "", deletionTimestamp, annotations } = pod.metadata;
  const spec = objectField(pod, "spec") ?? noFields;
  const refuse = (reason: string): never => {
    throw conflict({ group: "", resource: "pods/binding" }, name, `pod ${name} ${reason}`);
  };
  if (deletionTimestamp !== undefined) refuse("is being deleted, cannot be assigned to a host");
  const present = textField(spec, "nodeName");
  if (present !== "") refuse(`is already assigned to node "${present}"`);
  if (listField(spec, "schedulingGates").length > 0) refuse("has non-empty .spec.schedulingGates");
  const added = binding.metadata.annotations;
  const metadata = added === undefined ? pod.metadata : { ...pod.metadata, annotations: { ...annotations, ...added } };
  const next = { ...pod, metadata, spec: { ...spec, nodeName: node } };
  return withCondition(next, { type: "PodScheduled", status: "True" }, now);
}
