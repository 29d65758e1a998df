/** The admission plugins of a server, in upstream's order. What they know of other objects comes from memory. */
import { type AdmissionChain, admissionChain } from "#admission/chain.ts";
import { claimResize } from "#admission/claim-resize.ts";
import { defaultStorageClass, defaultVolumeAttributesClass } from "#admission/default-class.ts";
import { namespaceLifecycle } from "#admission/namespace-lifecycle.ts";
import type { AdmissionPlugin } from "#admission/plugin.ts";
import { rbacEscalation } from "#admission/rbac-escalation.ts";
import { storageProtection } from "#admission/storage-protection.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import type { RbacIndex } from "#authz/rbac-index.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Lookups } from "./lookups.ts";

export interface AdmissionOptions {
  readonly domain: ApiDomain;
  readonly lookups: Lookups;
  readonly authorizer: Authorizer;
  readonly rbacIndex: RbacIndex;
  gate(name: string): boolean;
  /** Names from `--enable-admission-plugins` and `--disable-admission-plugins`. */
  readonly disabled: readonly string[];
}

export function serverAdmission({
  domain,
  lookups,
  authorizer,
  rbacIndex,
  gate,
  disabled,
}: AdmissionOptions): AdmissionChain {
  const storageClasses = "storageclasses.storage.k8s.io";
  const attributesClasses = "volumeattributesclasses.storage.k8s.io";
  const plugins: AdmissionPlugin[] = [
    namespaceLifecycle({ domain, getNamespace: (name) => lookups.get("namespaces", "", name) }),
    storageProtection({ domain }),
    defaultStorageClass({ domain, listClasses: () => lookups.list(storageClasses) }),
    ...(gate("VolumeAttributesClass")
      ? [defaultVolumeAttributesClass({ domain, listClasses: () => lookups.list(attributesClasses) })]
      : []),
    claimResize({
      getStorageClass: (name) => lookups.get(storageClasses, "", name),
      classAnnotation: domain.rename("volume.beta.kubernetes.io/storage-class"),
    }),
  ];
  return admissionChain([
    ...plugins.filter(({ name }) => !disabled.includes(name)),
    // Not a plugin upstream, so nobody can switch it off. It sees what the others left, before it is validated.
    rbacEscalation({ authorizer, index: rbacIndex }),
  ]);
}
