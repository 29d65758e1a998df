/** Annotations in which version v1 of autoscalers keeps fields of v2. Any client may write any text into them. */
import { suite } from "../harness.ts";
import { absent } from "../view.ts";

const inBothDomains = suite();

const nest = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
const pods = (amount: string, more = ""): string =>
  `[{${more}"type":"Pods","pods":{"metricName":"m","targetAverageValue":${amount}}}]`;
const resource = (utilization: string): string =>
  `[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":${utilization}}}]`;

inBothDomains(
  "metrics in an annotation keep every digit of a number, and are dropped where it does not fit",
  async (api) => {
    const { ns } = await api.createNamespace();
    const path = `/apis/autoscaling/v1/namespaces/${ns}/horizontalpodautoscalers?dryRun=All`;
    const name = api.name("autoscaling.alpha.kubernetes.io/metrics");
    const create = (text: string) =>
      api.post(path, {
        apiVersion: "autoscaling/v1",
        kind: "HorizontalPodAutoscaler",
        metadata: { name: "h", annotations: { [name]: text } },
        spec: { scaleTargetRef: { kind: "Deployment", name: "d" }, maxReplicas: 3 },
      });
    for (const [given, kept] of [
      ["9007199254740993", "9007199254740993"],
      ["12345678901234567891", "12345678901234567891"],
      ["1e3", "1e3"],
      ["0.00000000001", "1n"],
      ["1.50", "1500m"],
    ] as const) {
      (await create(pods(given))).expect(201, { "metadata.annotations": { [name]: pods(`"${kept}"`) } });
    }
    (await create(pods("5", `"x":${nest(5000)},`))).expect(201, { "metadata.annotations": { [name]: pods('"5"') } });
    (await create(resource("50"))).expect(201, { "metadata.annotations": { [name]: resource("50") } });
    for (const dropped of [
      resource("50.0"),
      resource("5e1"),
      resource('{"rawJSON":"5"}'),
      "5.0",
      "[5.0]",
      `[{"type":${nest(9000)}}]`,
      pods("5", `"x":${nest(11_000)},`),
      nest(5000),
      nest(50_000),
      "[".repeat(50_000),
    ]) {
      (await create(dropped)).expect(201, { "metadata.annotations": absent });
    }
  },
);
