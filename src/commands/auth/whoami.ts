/** `binnacle auth whoami`: the user that the server takes the caller for. */
import { ApiError } from "#client/api-error.ts";
import { refuseArguments } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag } from "../command.ts";
import { clusterFlags, withCluster } from "../open-cluster.ts";
import { isStructured } from "../output.ts";
import { tableText, valueText } from "../print.ts";

const flags = {
  ...clusterFlags,
  output: formFlag(["table", "json", "yaml"], "A table, or the answer of the server."),
};

const help = `Prints who you are for the server: your name, your groups and what else it knows.

Usage: binnacle auth whoami [flags]

  -h, --help                      print this

Examples:
  binnacle auth whoami
  binnacle auth whoami --as=alice --as-group=dev -o json

`;

interface SelfSubjectReview {
  readonly status?: {
    readonly userInfo?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

/** The path of the review, which servers of every API domain have in this name. */
const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/** Runs `binnacle auth whoami`. Rejects with `StartError`. */
export const whoami = command(flags, help, async (settings, rest) => {
  refuseArguments(rest, "whoami takes flags only");
  const { output = "table" } = settings;
  await withCluster(settings, async (cluster) => {
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    let review: SelfSubjectReview;
    try {
      review = await cluster.call<SelfSubjectReview>({ method: "POST", path, body });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 404) throw error;
      throw new StartError("the server does not say who you are: it has no selfsubjectreviews, as before 1.28", {
        cause: error,
      });
    }
    process.stdout.write(isStructured(output) ? valueText(output, review) : reviewText(review));
  });
});

function reviewText({ status = {} }: SelfSubjectReview): string {
  const { username = "", uid = "", groups = [], extra = {} } = status.userInfo ?? {};
  const rows = [
    ["ATTRIBUTE", "VALUE"],
    ["Username", username],
    ...(uid === "" ? [] : [["UID", uid]]),
    ...(groups.length === 0 ? [] : [["Groups", `[${groups.join(" ")}]`]]),
    ...Object.entries(extra).map(([key, values]) => [`Extra: ${key}`, `[${values.join(" ")}]`]),
  ];
  return tableText(rows, false);
}
