/** The controller of boats: each has a logbook, and a condition that says whether it is moored. */
import { controller } from "binnacle/client/controllers";
import { ConfigMap } from "binnacle/client/kinds";
import { Boat } from "./boats.ts";

export const boats = controller(Boat, {
  owns: [ConfigMap],
  async reconcile(boat, { apply, status, event }) {
    const { berth } = boat.spec;
    // The logbook goes when the boat goes, since it belongs to it.
    await apply(ConfigMap, { metadata: { name: `${boat.metadata.name}-logbook` }, data: { berth } });
    const wasMoored = boat.status?.conditions?.some(({ type, status }) => type === "Moored" && status === "True");
    await status({ moored: { status: true, reason: "Moored", message: `It lies at ${berth}.` } });
    if (wasMoored !== true) event("Normal", "Moored", `It was moored at ${berth}.`);
  },
});
