/**
 * Flags that belong to no single feature, or that several features read: the server's address, its storage, its log.
 */
import {
  binnacleFlag,
  boolean,
  choice,
  duration,
  integer,
  optional,
  type OptionsOf,
  text,
  withShort,
} from "#std/flags.ts";

const generic = (name: string) => [name, "Generic"] as const;

export const generalFlags = {
  apiDomain: text(
    binnacleFlag("api-domain"),
    "platform.io",
    "name",
    "Vendor part of API group and label names; k8s.io gives Kubernetes' exact names. Fixed in the data folder by the first start.",
    (domain) =>
      /^(?=.{1,200}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/.test(domain)
        ? undefined
        : "must be a DNS name such as platform.io",
  ),
  config: optional(binnacleFlag("config"), "file", "YAML file with these flags' names as keys. The command line wins."),
  dataDir: text(
    binnacleFlag("data-dir"),
    "./.binnacle",
    "folder",
    "Where objects, certificates and credentials are kept.",
  ),
  acceptDataLoss: boolean(
    binnacleFlag("accept-data-loss"),
    false,
    "Start although writes or keys are missing from the data folder or from etcd, without them; for one start, after its refusal said which.",
  ),
  processes: integer(
    binnacleFlag("processes"),
    1,
    { min: 1, max: 64 },
    "Processes that serve the port, for more cores than one uses (docs/processes.md). One that ends is started again.",
  ),
  bindAddress: text(
    ["bind-address", "Secure serving"],
    "127.0.0.1",
    "ip",
    "Address to listen on; 0.0.0.0 or :: for all.",
  ),
  externalHostname: optional(generic("external-hostname"), "name", "Name under which clients reach this server."),
  requestTimeoutMs: duration(generic("request-timeout"), 60_000, "How long a request other than a watch may take."),
  livezGracePeriodMs: duration(
    generic("livez-grace-period"),
    0,
    "Time after start in which /livez does not wait for what start-up still has to finish.",
  ),
  shutdownDelayMs: duration(
    generic("shutdown-delay-duration"),
    0,
    "Time between the signal to stop and the end of service; /readyz fails during it.",
  ),
  shutdownSendRetryAfter: boolean(
    generic("shutdown-send-retry-after"),
    false,
    "Answer requests that arrive after the delay with 429 and Retry-After until running ones have ended.",
  ),
  verbosity: withShort(
    integer(
      ["v", "Logs"],
      0,
      { min: 0, max: 10 },
      "How much to log: 0 starts, stops and problems, 4 every request as well, 6 details.",
    ),
    "v",
  ),
  loggingFormat: choice(
    ["logging-format", "Logs"],
    "auto",
    ["auto", "json", "text"],
    "Form of log lines; auto is text on a terminal and JSON elsewhere.",
  ),
};

export type GeneralFlags = OptionsOf<typeof generalFlags>;
