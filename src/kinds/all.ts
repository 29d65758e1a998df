/** The behaviour of every built-in kind that has some of its own: one line a kind. Others are generic. */
import { configMaps } from "./core/config-map.ts";
import { coreEvents } from "./core/event.ts";
import { namespaces } from "./core/namespace.ts";
import { persistentVolumeClaims } from "./core/persistent-volume-claim.ts";
import { secrets } from "./core/secret.ts";
import { serviceAccounts } from "./core/service-account.ts";
import { events } from "./events/event.ts";
import type { KindBehaviour, KindEnvironment } from "./generic.ts";
import { resourceClaimTemplates } from "./resource/resource-claim-template.ts";
import { volumeAttributesClasses } from "./storage/volume-attributes-class.ts";

type MakeBehaviour = (environment: KindEnvironment, version: string) => KindBehaviour;

/** Groups are Kubernetes' names. */
const behaviours: readonly (readonly [group: string, kind: string, make: MakeBehaviour])[] = [
  ["", "ConfigMap", configMaps],
  ["", "Event", coreEvents],
  ["", "Namespace", namespaces],
  ["", "PersistentVolumeClaim", persistentVolumeClaims],
  ["", "Secret", secrets],
  ["", "ServiceAccount", serviceAccounts],
  ["events.k8s.io", "Event", events],
  ["resource.k8s.io", "ResourceClaimTemplate", resourceClaimTemplates],
  ["storage.k8s.io", "VolumeAttributesClass", volumeAttributesClasses],
];

const byKind = new Map(behaviours.map(([group, kind, make]) => [`${group}/${kind}`, make]));

/** What the kind adds to the generic behaviour, in one of its versions. `group` is Kubernetes' name. */
export function kindBehaviour(
  of: { readonly group: string; readonly version: string; readonly kind: string },
  environment: KindEnvironment,
): KindBehaviour {
  return byKind.get(`${of.group}/${of.kind}`)?.(environment, of.version) ?? {};
}
