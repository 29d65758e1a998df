/**
 * Publishes in every namespace, as the config map `kube-root-ca.crt`, the certificates by which programs know the
 * server: with the first pod, when somebody asks for it by name, or in a while. Only where others keep config maps
 * from the start nothing appears between theirs until it is needed. Source: upstream's root CA certificate publisher,
 * which makes it everywhere at once.
 */
import type { ApiObject } from "#meta/object-meta.ts";
import type { Controller } from "./controller.ts";
import { keepInEveryNamespace, type NamespacedObject } from "./in-every-namespace.ts";

export const rootCertificatesName = "kube-root-ca.crt";
const key = "ca.crt";

interface ConfigMap extends ApiObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** `certificates` is PEM; `onNeeded` tells of namespaces where they are needed. */
export const rootCaController =
  (certificates: string, onNeeded: NonNullable<NamespacedObject["onNeeded"]>): Controller =>
  (environment) => {
    const { rename } = environment.domain;
    const annotation = rename("kubernetes.io/description");
    const description =
      "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the " +
      "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes " +
      "clusters.";
    const data = { [key]: certificates };
    const isRight = ({ data: present, metadata }: ConfigMap): boolean =>
      present !== undefined &&
      Object.keys(present).length === 1 &&
      present[key] === certificates &&
      metadata.annotations?.[annotation] !== undefined;
    return keepInEveryNamespace(environment, {
      what: "config map of root certificates",
      resource: "configmaps",
      name: rootCertificatesName,
      onNeeded,
      object: {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: rootCertificatesName, annotations: { [annotation]: description } },
        data,
      },
      mend(object) {
        if (isRight(object)) return object;
        const { metadata } = object;
        const annotations = { ...metadata.annotations, [annotation]: description };
        return { ...object, metadata: { ...metadata, annotations }, data };
      },
    });
  };
