/** A POST that stores nothing: the body is decoded and admitted as for a create, then an action answers. */
import type { Action } from "#meta/action.ts";
import { kubernetesGroup } from "#meta/api-domain.ts";
import { apiVersionOf, type GroupVersionKind } from "#meta/group-version.ts";
import type { ApiObject, Unstructured } from "#meta/object-meta.ts";
import type { Status } from "#meta/status-error.ts";
import { isLate } from "#std/maybe-promise.ts";
import type { Reply } from "../api-request.ts";
import { objectReply, valueReply } from "../object-reply.ts";
import { writeOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import {
  admissionAttributes,
  markSlow,
  afterAdmission,
  decodeBody,
  inNamespace,
  objectVersions,
  withOwnership,
  withoutSystemFields,
} from "../write-steps.ts";

/** The maximal size of a body. Actions are expensive and run on the event loop. */
const bodyBytesMax = 256 * 1024;

export async function runAction(scope: Scope, action: Action): Promise<Reply> {
  const { request, parts, context, namespace, name } = scope;
  const options = writeOptions(request.query, "CreateOptions", parts.domain);
  const negotiated = parts.negotiator.answer(request, (encoding, kind, group, version) =>
    // Upstream: kinds that are not stored have no columns.
    kind === "Table" ? false : parts.transforms(encoding, kind, group, version),
  );
  const encoding = parts.negotiator.body(request.headers["content-type"]);
  const bytes = await request.body(bodyBytesMax, parts.bodyLimitBytes);
  const own: GroupVersionKind = scope.definition;
  // Clients have Kubernetes' name of the group in their code. They are answered in the name that they used.
  const { version, kind } = own;
  const alias = { group: kubernetesGroup(parts.domain, own.group), version, kind };
  const body = decodeBody(scope, options, bytes, encoding, [...(action.accepted ?? []), alias]);
  const isAlias = alias.group !== own.group && body.object.apiVersion === apiVersionOf(alias);
  // Plugins see the version of this server, also of kinds that the action accepts in others.
  const said = body.object.apiVersion === apiVersionOf(own) ? body.object : withVersion(body.object, own);
  // The uid of a binding is a precondition.
  const sent = inNamespace(scope, scope.subresource === "binding" ? said : withoutSystemFields(said));
  const owned = withOwnership(scope, undefined, { ...body, object: sent }, options, objectVersions(scope));
  const about = {
    operation: "CREATE",
    oldObject: undefined,
    dryRun: options.dryRun,
    name: name === "" ? (sent.metadata.name ?? "") : name,
  } as const;
  const admitted = parts.admission.admit(admissionAttributes(scope, { ...about, object: owned }));
  const object = afterAdmission(scope, owned, await markSlow(scope, admitted));
  const acting = action({
    context,
    namespace,
    name,
    object,
    dryRun: options.dryRun,
    admit: (checked) =>
      markSlow(scope, parts.admission.validate(admissionAttributes(scope, { ...about, object: checked }))),
  });
  // The action waits for turns of the loop, or for other servers.
  if (isLate(acting)) request.seats?.slow();
  const answer = await acting;
  return isStatus(answer)
    ? valueReply(negotiated, 201, answer)
    : objectReply(scope, negotiated, 201, (isAlias ? withVersion(answer, alias) : answer) as Unstructured, undefined);
}

const withVersion = <T extends ApiObject>(object: T, version: GroupVersionKind): T => ({
  ...object,
  apiVersion: apiVersionOf(version),
});

const isStatus = (answer: ApiObject | Status): answer is Status =>
  answer.kind === "Status" && answer.apiVersion === "v1";
