// Logs (N): what the layers of a run did, in time and by layer.

import { useState } from "react";

import type { Layer } from "../api/run";
import { visible } from "../parts/visible";
import { formatNumber, say } from "../texts";

export function Logs({ layers }: { layers: Layer[] }) {
  const [view, setView] = useState<"timeline" | "byLayer">("timeline");
  if (!layers.length) return <p className="text-quiet">{say("logs.none")}</p>;
  const numbers = [...new Set(layers.map((one) => one.layer))].sort((a, b) => a - b);
  return (
    <div className="flex flex-col gap-3">
      <div role="tablist" className="flex gap-2">
        {(["timeline", "byLayer"] as const).map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={view === name}
            className={`button small ${view === name ? "primary" : ""}`}
            onClick={() => setView(name)}
          >
            {say(`logs.${name}`)}
          </button>
        ))}
      </div>
      {view === "timeline" ? (
        <Entries layers={layers} />
      ) : (
        numbers.map((number) => (
          <section key={number}>
            <h3 className="text-small font-semibold text-quiet">{say("logs.layer", { n: number })}</h3>
            <Entries layers={layers.filter((one) => one.layer === number)} />
          </section>
        ))
      )}
    </div>
  );
}

function Entries({ layers }: { layers: Layer[] }) {
  return (
    <ol className="flex flex-col gap-1 text-small">
      {layers.map((one, index) => (
        <li key={index}>
          <details>
            <summary>
              <span className="tabular text-quiet">{one.layer}</span> {visible(one.name)} · {one.status}
              {one.duration_ms != null && ` · ${formatNumber(one.duration_ms)} ms`}
            </summary>
            <pre className="scrolls max-h-48 whitespace-pre-wrap rounded bg-raised p-2">
              {visible(JSON.stringify(one, null, 2))}
            </pre>
          </details>
        </li>
      ))}
    </ol>
  );
}
