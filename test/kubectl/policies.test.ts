/** Admission policies and rules of custom resources in kubectl. */
import assert from "node:assert/strict";
import { definition } from "../crds.ts";
import { kubectlSuite } from "./kubectl.ts";

kubectlSuite((test) => {
  test("a policy with parameters refuses, warns, and is lifted", async (kubectl) => {
    const { api, ns } = kubectl;
    const name = api.unique("policy");
    const group = api.endpoint.rename("admissionregistration.k8s.io");
    const policy = {
      apiVersion: `${group}/v1`,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: {
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        matchConstraints: {
          resourceRules: [
            { apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["deployments"] },
          ],
        },
        validations: [
          {
            expression: "object.spec.replicas <= int(params.data.max)",
            messageExpression: "'at most ' + params.data.max + ' replicas'",
          },
        ],
      },
    };
    const binding = (actions: readonly string[]): object => ({
      apiVersion: `${group}/v1`,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: {
        policyName: name,
        paramRef: { name: "limits", namespace: ns, parameterNotFoundAction: "Deny" },
        validationActions: actions,
        matchResources: {
          namespaceSelector: { matchLabels: { [api.endpoint.rename("kubernetes.io/metadata.name")]: ns } },
        },
      },
    });
    await kubectl.run(["create", "configmap", "limits", "--from-literal=max=3"]);
    await kubectl.run(["apply", "-f", "-"], { input: JSON.stringify(policy) });
    await kubectl.run(["apply", "-f", "-"], { input: JSON.stringify(binding(["Deny"])) });
    await kubectl.run(["create", "deployment", "web", "--image=nginx", "--replicas=3"]);
    await kubectl.run(["scale", "deployment", "web", "--replicas=2"]);
    const denied = await kubectl.try(["patch", "deployment", "web", "--type=merge", "-p", '{"spec":{"replicas":4}}']);
    assert.equal(denied.code, 1);
    assert.match(
      denied.stderr,
      new RegExp(`ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: at most 3 replicas`),
    );
    await kubectl.run(["apply", "-f", "-"], { input: JSON.stringify(binding(["Warn"])) });
    const warned = await kubectl.try(["patch", "deployment", "web", "--type=merge", "-p", '{"spec":{"replicas":4}}']);
    assert.equal(warned.code, 0, warned.stderr);
    assert.match(warned.stderr, /Warning: Validation failed for ValidatingAdmissionPolicy .* at most 3 replicas/);
    assert.match(await kubectl.run(["get", "validatingadmissionpolicies", name]), /^NAME +VALIDATIONS +PARAMKIND/);
    await kubectl.run(["delete", "validatingadmissionpolicybinding", name]);
    await kubectl.run(["delete", "validatingadmissionpolicy", name]);
    const lifted = await kubectl.try(["patch", "deployment", "web", "--type=merge", "-p", '{"spec":{"replicas":5}}']);
    assert.deepEqual([lifted.code, lifted.stderr], [0, ""]);
  });

  test("rules of a custom resource are told with the field and the message", async (kubectl) => {
    const { api } = kubectl;
    const group = `${api.unique("g")}.example.com`;
    const schema = {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: { min: { type: "integer" }, max: { type: "integer" } },
          "x-kubernetes-validations": [
            { rule: "self.min <= self.max", message: "min may not be above max", fieldPath: ".min" },
            { rule: "self.max >= oldSelf.max", message: "max may only grow" },
          ],
        },
      },
    };
    await kubectl.run(["create", "-f", "-"], {
      input: JSON.stringify(definition(group, { scope: "Namespaced", schema })),
    });
    const widget = (min: number, max: number): string =>
      JSON.stringify({ apiVersion: `${group}/v1`, kind: "Widget", metadata: { name: "a" }, spec: { min, max } });
    const output = await kubectl.try(["create", "-f", "-"], { input: widget(2, 1) });
    assert.match(
      output.stderr,
      /The Widget "a" is invalid: spec\.min: Invalid value: "object": min may not be above max/,
    );
    await kubectl.run(["create", "-f", "-"], { input: widget(1, 2) });
    const smaller = await kubectl.try(["replace", "-f", "-"], { input: widget(1, 1) });
    assert.match(smaller.stderr, /spec: Invalid value: "object": max may only grow/);
  });
});
