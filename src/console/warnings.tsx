/** Warnings of the server, until somebody puts them away. */
import type { App } from "./app-state.ts";
import { Text } from "./text.tsx";

export function Warnings({ app }: { readonly app: App }) {
  const { warnings } = app.api;
  if (warnings.value.length === 0) return null;
  return (
    <div class="warnings" role="status">
      <ul>
        {warnings.value.map((text) => (
          <li key={text}>
            <Text of={text} max={300} />
          </li>
        ))}
      </ul>
      <button type="button" class="small" onClick={() => (warnings.value = [])}>
        put away
      </button>
    </div>
  );
}
