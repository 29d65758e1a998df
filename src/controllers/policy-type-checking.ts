/**
 * Checks the expressions of validating policies against the types of the matched kinds, and writes warnings into their
 * status. Source: upstream's `controller/validatingadmissionpolicystatus`.
 */
import type { ValidatingAdmissionPolicy } from "#api/admissionregistration/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { bigIntOf } from "#std/int64.ts";
import { runCooperatively } from "#std/cooperative.ts";
import type { Controller } from "./controller.ts";
import type { ServedKinds } from "./policy-type-checking/type-warnings.ts";
import { objectPath } from "./paths.ts";
import { reconcile } from "./reconcile.ts";

export type { ServedKinds } from "./policy-type-checking/type-warnings.ts";

const manager = "validatingadmissionpolicy-status";

export const policyTypeCheckingController =
  (kinds: ServedKinds): Controller =>
  (environment) => {
    const { client, domain } = environment;
    const apiVersion = `${domain.rename("admissionregistration.k8s.io")}/v1`;
    const path = `/apis/${apiVersion}/validatingadmissionpolicies`;
    return reconcile<ValidatingAdmissionPolicy>(environment, {
      name: "validatingadmissionpolicy-status",
      what: "validating policies",
      path,
      matters: isUnchecked,
      workersMax: 5,
      logKey: "policy",
      failure: "could not check the types of a policy; trying again",
      async work(policy) {
        // The check needs the expression language, which is loaded for the first policy.
        const { typeWarnings } = await import("./policy-type-checking/type-warnings.ts");
        const expressionWarnings = await runCooperatively(typeWarnings(policy.spec, kinds));
        const status = {
          observedGeneration: policy.metadata.generation,
          typeChecking: expressionWarnings.length === 0 ? {} : { expressionWarnings },
        };
        const kind = "ValidatingAdmissionPolicy";
        await ignoreNotFound(
          client.apply<ValidatingAdmissionPolicy>(`${objectPath(path, policy.metadata)}/status`, manager, {
            apiVersion,
            kind,
            metadata: { name: policy.metadata.name },
            status,
          }),
        );
      },
    });
  };

const isUnchecked = ({ metadata, status }: ValidatingAdmissionPolicy): boolean =>
  bigIntOf(status.observedGeneration ?? 0) < bigIntOf(metadata.generation ?? 0);
