/** A custom resource in kubectl directly after its definition, without waits or retries. */
import assert from "node:assert/strict";
import { custom, definition } from "../crds.ts";
import type { ObjectBody } from "../objects.ts";
import { type Kubectl, kubectlSuite } from "./kubectl.ts";

/** Returns a definition with all fields that kubectl reads, and the name of its group. */
function widgets(kubectl: Kubectl): { readonly group: string; readonly body: ObjectBody } {
  // All groups share names in kubectl, so each test has a group of its own.
  const group = `${kubectl.api.unique("g")}.example.com`;
  const port = { "x-kubernetes-int-or-string": true, description: "Number or name of the port." };
  const size = { type: "integer", format: "int32", minimum: 0, description: "How many are wanted." };
  const items = {
    type: "object",
    required: ["type"],
    properties: { type: { type: "string" }, status: { type: "string" } },
  };
  const conditions = {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    items,
  };
  const schema = {
    type: "object",
    description: "A widget is a thing of the tests.",
    properties: {
      spec: {
        type: "object",
        description: "What is wanted.",
        required: ["size"],
        properties: {
          size,
          color: { type: "string", enum: ["red", "blue"], default: "red", description: "What it looks like." },
          port,
          labels: { type: "object", additionalProperties: { type: "string" } },
        },
      },
      status: {
        type: "object",
        properties: { replicas: { type: "integer" }, selector: { type: "string" }, conditions },
      },
    },
  };
  const scale = {
    specReplicasPath: ".spec.size",
    statusReplicasPath: ".status.replicas",
    labelSelectorPath: ".status.selector",
  };
  const additionalPrinterColumns = [
    { name: "Size", type: "integer", jsonPath: ".spec.size" },
    { name: "Ready", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
    { name: "Color", type: "string", jsonPath: ".spec.color", priority: 1 },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ];
  const singular = group.split(".", 1)[0]!.replace("-", "");
  const names = { plural: `${singular}s`, singular, shortNames: [`${singular}x`], categories: [`${singular}all`] };
  const version = { subresources: { status: {}, scale }, additionalPrinterColumns };
  const body = definition(group, { scope: "Namespaced", schema, version, names });
  return { group, body: { ...body, metadata: { name: `${names.plural}.${group}` } } };
}

kubectlSuite((test) => {
  test("a new kind is listed, explained and got at once", async (kubectl) => {
    const { group, body } = widgets(kubectl);
    const { plural, singular, shortName, category } = namesOf(body);
    assert.match(await kubectl.run(["create", "-f", kubectl.file(body)]), /customresourcedefinition.*created/);
    assert.match(
      await kubectl.run(["api-resources", `--api-group=${group}`]),
      new RegExp(`\\n${plural} +${shortName} +${group}/v1 +true +Widget\\n`),
    );
    const kind = await kubectl.run(["explain", `${plural}.${group}`]);
    assert.match(kind, new RegExp(`GROUP: +${group}\\nKIND: +Widget\\nVERSION: +v1\\n`));
    assert.match(kind, /A widget is a thing of the tests\./);
    assert.match(kind, /metadata\s+<ObjectMeta>/);
    const spec = await kubectl.run(["explain", `${plural}.spec`, `--api-version=${group}/v1`]);
    assert.match(spec, /size\s+<integer> -required-\n\s+How many are wanted\./);
    assert.match(spec, /labels\s+<map\[string\]string>/);
    assert.match(spec, /port\s+<\S*>/);
    assert.match(await kubectl.run(["explain", `${plural}.${group}`, "--recursive"]), /\n +conditions\s+<\[\]Object>/);
    // Kubernetes' own end-to-end tests expect this text in the explanation of a custom kind.
    assert.match(await kubectl.run(["explain", `${plural}.metadata`]), /CreationTimestamp is a timestamp/);
    await kubectl.fails(["explain", `${plural}.spec.nothing`], /field "nothing" does not exist/);

    await kubectl.fails(["get", plural, "none"], new RegExp(`${plural}.${group} "none" not found`));
    const object = custom(group, "w1", { spec: { size: 2 } });
    const created = await kubectl.run(["create", "-f", kubectl.file(object)]);
    assert.equal(created, `widget.${group}/w1 created\n`);
    const status = { status: { replicas: 1, conditions: [{ type: "Ready", status: "True" }] } };
    await kubectl.run(["patch", plural, "w1", "--subresource=status", "--type=merge", "-p", JSON.stringify(status)]);
    for (const name of [plural, singular, shortName, category, `${plural}.v1.${group}`]) {
      const table = await kubectl.run(["get", name]);
      assert.match(table, /^NAME +SIZE +READY +AGE\n(\S+\/)?w1 +2 +True +\d+s\n$/, name);
    }
    assert.match(
      await kubectl.run(["get", plural, "-o", "wide"]),
      /^NAME +SIZE +READY +COLOR +AGE\nw1 +2 +True +red +/,
    );
    assert.equal(await kubectl.run(["get", plural, "w1", "-o", "jsonpath={.spec.color}"]), "red");
    const description = await kubectl.run(["describe", plural, "w1"]);
    assert.match(description, new RegExp(`Name: +w1\\n[^]*API Version: +${group}/v1\\nKind: +Widget\\n`));
    assert.match(
      description,
      /Spec:\n +Color: +red\n +Size: +2\nStatus:\n +Conditions:\n +Status: +True\n +Type: +Ready\n/,
    );
    await kubectl.run(["wait", plural, "w1", "--for=condition=Ready", "--timeout=120s"]);

    // A schema refuses unknown fields, in kubectl and in the server.
    const typo = custom(group, "w2", { spec: { sise: 2, size: 1 } });
    await kubectl.fails(["create", "-f", kubectl.file(typo)], /unknown field "spec\.sise"/);
    const file = kubectl.file(custom(group, "w1", { spec: { size: 3 } }));
    await kubectl.run(["delete", "-f", file]);
    assert.match(await kubectl.run(["delete", "crd", `${plural}.${group}`]), /deleted/);
  });

  test("scales deployments and custom resources", async (kubectl) => {
    const { group, body } = widgets(kubectl);
    const { plural } = namesOf(body);
    await kubectl.run(["create", "-f", kubectl.file(body)]);
    await kubectl.run(["create", "-f", kubectl.file(custom(group, "w1", { spec: { size: 2 } }))]);
    const scaled = await kubectl.run(["scale", plural, "w1", "--replicas=5"]);
    assert.match(scaled, new RegExp(`widget\\.${group}/w1 scaled\n`));
    assert.equal(await kubectl.run(["get", plural, "w1", "-o", "jsonpath={.spec.size}"]), "5");
    await kubectl.fails(
      ["scale", plural, "w1", "--replicas=7", "--current-replicas=2"],
      /Expected replicas to be 2, was 5/,
    );
    await kubectl.run(["delete", "crd", `${plural}.${group}`]);

    await kubectl.run(["create", "deployment", "web", "--image=nginx", "--replicas=2"]);
    assert.equal(await kubectl.run(["scale", "deployment/web", "--replicas=4"]), "deployment.apps/web scaled\n");
    assert.equal(
      await kubectl.run(["scale", "deploy", "web", "--current-replicas=4", "--replicas=3"]),
      "deployment.apps/web scaled\n",
    );
    assert.equal(await kubectl.run(["get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"]), "3");
  });

  test("the next command uses the changed schema", async (kubectl) => {
    const { group, body } = widgets(kubectl);
    const { plural } = namesOf(body);
    await kubectl.run(["apply", "-f", kubectl.file(body)]);
    await kubectl.fails(["explain", `${plural}.spec.added`], /field "added" does not exist/);
    const text = JSON.stringify(body).replace('"color":', '"added":{"type":"string","description":"New."},"color":');
    await kubectl.run(["apply", "-f", kubectl.file(text)]);
    assert.match(await kubectl.run(["explain", `${plural}.spec.added`]), /New\./);
    const object = custom(group, "w1", { spec: { size: 1, added: "x" } });
    await kubectl.run(["apply", "--validate=strict", "-f", kubectl.file(object)]);
    await kubectl.run(["delete", "crd", `${plural}.${group}`]);
    await kubectl.fails(["get", plural], /doesn't have a resource type|could not find the requested resource|NotFound/);
  });

  test("shows who serves which group version", async (kubectl) => {
    const listed = await kubectl.run(["get", "apiservices"]);
    assert.match(listed, /^NAME +SERVICE +AVAILABLE +AGE\n/);
    assert.match(listed, /\nv1\.apps +Local +True +/);
  });
});

interface Names {
  readonly plural: string;
  readonly singular: string;
  readonly shortName: string;
  readonly category: string;
}

function namesOf(body: ObjectBody): Names {
  const { names } = body["spec"] as {
    names: { plural: string; singular: string; shortNames: string[]; categories: string[] };
  };
  return {
    plural: names.plural,
    singular: names.singular,
    shortName: names.shortNames[0]!,
    category: names.categories[0]!,
  };
}
