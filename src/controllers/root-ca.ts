/**
 * Publishes the server's root certificates in every namespace, as the config map `kube-root-ca.crt`. Source: upstream's
 * root CA certificate publisher.
 */
import type { ConfigMap } from "#api/core/v1.ts";
import type { Controller } from "./controller.ts";
import { keepInEveryNamespace } from "./in-every-namespace.ts";

const rootCertificatesName = "kube-root-ca.crt";
const key = "ca.crt";

/** Makes the controller. `certificates` are PEM. */
export const rootCaController =
  (certificates: string): Controller =>
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
    return keepInEveryNamespace<ConfigMap>(environment, {
      what: "config map of root certificates",
      queue: "root_ca_cert_publisher",
      resource: "configmaps",
      name: rootCertificatesName,
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
