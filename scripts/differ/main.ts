/**
 * `npm run differ`: sends the same random requests to our server and to another one, and prints the differences.
 * README.md describes it.
 */
import { readCommandLine } from "../command-line.ts";
import { compareDefinitions } from "./definition-requests.ts";
import { compareKinds } from "./kind-requests.ts";
import { kindSets } from "./kinds.ts";
import { compareKubectl } from "./kubectl.ts";
import { comparePairs } from "./pair-requests.ts";
import { comparePolicies, preparePolicies } from "./policy-requests.ts";
import { compareRules } from "./rule-requests.ts";
import { Comparison, readServer } from "./servers.ts";
import { compareWebhooks } from "./webhooks.ts";

const usage = `Sends the same random requests to two servers and compares the answers.

Usage: npm run differ -- --rules | --definitions | --policies | --webhooks | --pods | --workloads | --others | --gated | --pairs | --kubectl --ours URL,TOKEN --reference URL,TOKEN [options]

  --rules           definitions of custom resources with CEL rules, and objects for them: which rules are refused and
                    with what text, which objects, and the warnings
  --definitions     definitions of custom resources like those of well-known operators, with one mutation, and objects, with
                    one: which are refused and with what findings, and what is stored of the others
  --policies        admission policies, bindings and parameters, and requests that meet them. Mutating ones need
                    --feature-gates MutatingAdmissionPolicy=true and --runtime-config
                    admissionregistration.k8s.io/v1alpha1=true on both servers
                    Start the reference anew for it: after many policies come and go it finds no parameters of built-in
                    kinds any more
  --audit OURS,REFERENCE
                    of --policies: files of audit events (level Metadata), to compare what policies leave there
  --webhooks        the cases of test/webhooks and random configurations of webhooks with random writes: what both servers
                    ask a webhook server that this starts, and what they answer. Both servers need controllers that
                    make service accounts
  --pods            pods, and changes of them, of their status, size and ephemeral containers: which are refused and with what
                    findings and warnings, and what is stored of the others
  --workloads       the same for pod templates, replication controllers, replica sets, deployments, stateful sets, daemon
                    sets, jobs, cron jobs and autoscalers
  --others          the same for the other kinds. Attributes classes of volumes need --runtime-config
                    storage.k8s.io/v1beta1=true and --feature-gates VolumeAttributesClass=true on both servers
  --gated           the same for kinds that are off by default. Both servers need
                    --feature-gates AllAlpha=true,AllBeta=true,CoordinatedLeaderElection=false and
                    --runtime-config api/all=true
  --pairs           two objects of each kind, as people write them, merged into each other by each kind of write (replace, merge,
                    strategic and JSON patch, kubectl's apply, server-side apply with and without force, status): codes,
                    findings, warnings, what is stored and who owns it. A case has a pair of every kind
  --kubectl         some 360 commands of each kubectl on the PATH, on both servers: what it prints, without times, random names
                    and addresses, and without the texts of explanations
  --record FILE     of --webhooks: writes what the reference did, as test/webhooks expects it
  --only TEXT       of --webhooks: cases with this in their names, none at random; of --kubectl: commands with this
  --ours URL,TOKEN  our server, in the domain k8s.io; for kinds and pairs without controllers (--controllers=-*), which the
                    reference lacks, too
  --reference URL,TOKEN
                    the other one, a kube-apiserver. A token is that of a user who may do everything, or @FILE, which
                    holds it. Certificates are not checked
  --kind RESOURCES  of --others, --gated and --pairs: these alone, separated by commas
  --seed N          the first case (a random number); the cases that follow have the numbers that follow
  --runs N          cases (50)
  --differences N   ends after so many cases that differ (10)
  -v, --verbose     print how many answers were compared after each case
  -h, --help        print this

A difference shows its case's seed and both answers; --seed N --runs 1 sends that one alone. Definitions are removed again. The exit code is 1
if answers differ. Addresses in Go's syntax, random names of types, and the order of causes are not compared.`;

const { values } = readCommandLine(usage, {
  rules: { type: "boolean" },
  definitions: { type: "boolean" },
  policies: { type: "boolean" },
  audit: { type: "string" },
  webhooks: { type: "boolean" },
  pods: { type: "boolean" },
  workloads: { type: "boolean" },
  others: { type: "boolean" },
  gated: { type: "boolean" },
  pairs: { type: "boolean" },
  kubectl: { type: "boolean" },
  record: { type: "string" },
  only: { type: "string" },
  ours: { type: "string" },
  reference: { type: "string" },
  kind: { type: "string" },
  seed: { type: "string" },
  runs: { type: "string" },
  differences: { type: "string" },
  verbose: { type: "boolean", short: "v" },
});
const comparisons = [
  "rules",
  "definitions",
  "policies",
  "webhooks",
  "pods",
  "workloads",
  "others",
  "gated",
  "pairs",
  "kubectl",
] as const;
if (comparisons.filter((name) => values[name] === true).length !== 1) {
  const flags = comparisons.map((name) => `--${name}`).join(", ");
  process.stderr.write(`choose one of ${flags}; --help prints more\n`);
  process.exit(2);
}
const servers = [readServer("ours", values.ours), readServer("reference", values.reference)];
const first = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
const runs = Number(values.runs ?? 50);
const differencesMax = Number(values.differences ?? 10);

async function runSeeds(compare: (comparison: Comparison, seed: number) => Promise<void>): Promise<number> {
  const comparison = new Comparison(servers);
  if (values.policies === true) await preparePolicies(comparison);
  let cases = 0;
  for (let seed = first; seed < first + runs && comparison.differing < differencesMax; seed++) {
    await compare(comparison, seed);
    cases++;
    if (values.verbose === true) process.stdout.write(`seed ${seed}: ${comparison.compared} answers compared\n`);
  }
  const { compared, differing, excused } = comparison;
  const more = excused === 0 ? "" : `, and ${excused} as documented`;
  process.stdout.write(`${cases} cases from seed ${first}, ${compared} answers compared, ${differing} differ${more}\n`);
  return differing;
}

function differences(): Promise<number> {
  if (values.rules === true) return runSeeds(compareRules);
  if (values.definitions === true) return runSeeds(compareDefinitions);
  if (values.policies === true) {
    const logs = values.audit?.split(",") ?? [];
    return runSeeds((comparison, seed) => comparePolicies(comparison, seed, logs));
  }
  if (values.pairs === true)
    return runSeeds((comparison, seed) => comparePairs(comparison, seed, values.kind?.split(",")));
  const set = kindSets.find((name) => values[name] === true);
  if (set !== undefined)
    return runSeeds((comparison, seed) => compareKinds(comparison, set, seed, values.kind?.split(",")));
  if (values.kubectl === true) return compareKubectl(servers, { ...values, first, differencesMax });
  const isFixed = values.seed === undefined;
  return compareWebhooks(servers, { ...values, first, runs, differencesMax, isFixed });
}

const differing = await differences();
for (const { agent } of servers) agent.destroy();
process.exitCode = differing === 0 ? 0 : 1;
