/** The findings of kube-apiserver 1.32.1 about services. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

const services = kindUnderTest({ group: "", version: "v1", kind: "Service" });

test("only balancers have a class of balancers", () => {
  const service = (spec: object) => ({
    metadata: { name: "s", resourceVersion: "1" },
    spec: { type: "ClusterIP", clusterIP: "None", clusterIPs: ["None"], ports: [{ port: 80 }], ...spec },
  });
  const wrong = service({ loadBalancerClass: "example.com/x" });
  const text = "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'";
  const aboutClass = (found: readonly string[]): string[] => found.filter((line) => line.includes("Class"));
  assert.deepEqual(aboutClass(services.refuseCreate(wrong)), [text]);
  assert.deepEqual(aboutClass(services.refuseUpdate(wrong, service({}))), [text]);
});
