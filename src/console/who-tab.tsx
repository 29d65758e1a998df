/** The users, groups and accounts that may do something with an object, by the roles of the cluster. */
import { useSignal } from "@preact/signals";
import { attributesOf, type Holder, holdersOf, readGrants } from "./access.ts";
import { failureText } from "./api.ts";
import { useLoaded } from "./load.ts";
import type { ObjectProps } from "./object-props.ts";
import { plainText, Text } from "./text.tsx";

export function WhoTab({ app, kind, namespace, name }: ObjectProps) {
  const verbs = ["get", "update", "patch", "delete", ...(kind.verbs.includes("watch") ? ["watch"] : [])];
  const verb = useSignal("get");
  const [loaded] = useLoaded((abort) => readGrants(app, namespace, abort), [namespace]);
  const { value, error } = loaded.value;
  if (error !== undefined) {
    return (
      <p role="alert" class="problem">
        Roles and bindings explain access, and they could not all be read: <Text of={failureText(error)} />
      </p>
    );
  }
  if (value === undefined) return <p class="dim">Reading roles and bindings …</p>;
  const question = { verb: verb.value, kind, subresource: "", name, namespace, path: "" };
  const holders = holdersOf(value, attributesOf(question, { name: "", groups: [] }));
  return (
    <>
      <form class="form" onSubmit={(event) => event.preventDefault()}>
        <label>
          Verb
          <select value={verb.value} onChange={(event) => (verb.value = event.currentTarget.value)}>
            {verbs.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      </form>
      <Holders holders={holders} />
      <p class="dim">
        Members of the group system:masters always may. What other authorizers allow, such as a webhook, no role says.
      </p>
    </>
  );
}

export function Holders({ holders }: { readonly holders: readonly Holder[] }) {
  if (holders.length === 0) return <p>No role allows it to anybody.</p>;
  return (
    <div class="scroll">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Who</th>
            <th scope="col">Where</th>
            <th scope="col">Through</th>
            <th scope="col">Role</th>
          </tr>
        </thead>
        <tbody>
          {holders.map(({ subject, namespace, binding, role }) => (
            <tr key={`${subject} ${binding}`}>
              <td>{plainText(subject)}</td>
              <td>{namespace === "" ? "whole cluster" : plainText(namespace)}</td>
              <td>{plainText(binding)}</td>
              <td>{plainText(role)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
