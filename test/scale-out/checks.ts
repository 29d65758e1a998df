/** The checks of several servers on etcd, with a sentence about each, for `run.ts`. */

interface CheckProgram {
  readonly file: string;
  readonly sentence: string;
}

/** Checks that take options and print figures, by name. */
export const programs: Readonly<Record<string, CheckProgram>> = {
  rounds: {
    file: "rounds/main.ts",
    sentence: "Three servers and three members under faults: what clients are answered is right.",
  },
  simulation: {
    file: "programs/simulation.ts",
    sentence: "Servers on an etcd in memory, under thousands of seeds: what they say is what happened. Needs no Go.",
  },
  serve: { file: "programs/serve.ts", sentence: "Etcd, servers and a load balancer, for other programs." },
  envtest: { file: "programs/envtest.ts", sentence: "A suite of controller-runtime on three servers behind one port." },
  gaps: { file: "programs/gaps.ts", sentence: "The longest time without a write when members and servers fail." },
  majority: { file: "programs/majority.ts", sentence: "The time until servers see that etcd has lost its majority." },
  rolling: {
    file: "programs/rolling.ts",
    sentence: "Restarts of servers and members, which client-go does not notice.",
  },
  stale: { file: "programs/stale.ts", sentence: "Reads of one server right after writes to another." },
  doubles: { file: "programs/doubles.ts", sentence: "Addresses, ports and names that two objects could get." },
  leader: { file: "programs/leader.ts", sentence: "A leader that stood still, and its writes after another leads." },
  leftovers: { file: "programs/leftovers.ts", sentence: "Objects that are created while their namespace ends." },
  "shared-reads": { file: "programs/shared-reads.ts", sentence: "Many reads at once, and how few of them reach etcd." },
  herd: { file: "programs/herd.ts", sentence: "The restart of a server under many watches." },
  "definitions-in-force": {
    file: "programs/definitions-in-force.ts",
    sentence: "Definitions that are made on one server, and used on the others at once.",
  },
  rights: {
    file: "programs/rights.ts",
    sentence: "Rights that are taken away on one server, and asked for on others.",
  },
  backlog: { file: "programs/backlog.ts", sentence: "A server that was cut from etcd for minutes." },
};

/** Checks that are test files of this folder, by the names of the files. */
export const tests: Readonly<Record<string, string>> = {
  "address-objects": "Addresses and ranges of services as objects have one owner on all servers.",
  bootstrap: "Servers that start together agree on what they create.",
  copy: "A folder of 100,000 objects is copied into etcd and back ($COPY_OBJECTS sets the number).",
  definitions: "Two servers never accept the same name of a definition.",
  "etcd-client": "The client of etcd bears failures, certificates and alarms of a real etcd.",
  "etcd-log": "The contract of logs holds on a real etcd.",
  failures: "What servers answer without a majority, and after a restart.",
  "fake-etcd": "The fake etcd of simulations answers as a real one does.",
  namespaces: "Nothing is created in a namespace that is gone.",
  peers: "What decides about requests is in force on all servers when its write is answered.",
  "peers-start": "A server that cannot work with the others does not start.",
  "planes-on-etcd": "Servers of one etcd serve the same planes, and end them together.",
  reads: "Reads of one server show what the other has acknowledged.",
  "servers-on-etcd": "Servers on a real etcd answer as one, and say when etcd does not.",
  restored: "An etcd that was restored from a backup is refused or served.",
  services: "Two servers never give out the same address or port.",
  "short-rounds": "Rounds of some seconds, and wrong histories that are found.",
  takeover: "kube-apiserver's etcd is served, and given back.",
};
