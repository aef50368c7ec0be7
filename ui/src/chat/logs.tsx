// Logs (N): what the layers of a run did, in time and by layer.

import { useId, useState } from "react";

import type { Layer } from "../api/run";
import { Tabs, tabId } from "../parts/tabs";
import { visible } from "../parts/visible";
import { formatNumber, say } from "../texts";

const VIEWS = ["timeline", "byLayer"] as const;

export function Logs({ layers }: { layers: Layer[] }) {
  const [view, setView] = useState<(typeof VIEWS)[number]>("timeline");
  const panel = useId();
  if (!layers.length) return <p className="text-quiet">{say("logs.none")}</p>;
  const numbers = [...new Set(layers.map((one) => one.layer))].sort((a, b) => a - b);
  return (
    <div className="flex flex-col gap-3">
      <Tabs
        label={say("chat.logs")}
        panel={panel}
        names={VIEWS}
        chosen={view}
        titleOf={(name) => say(`logs.${name}`)}
        onChoose={setView}
      />
      <div id={panel} role="tabpanel" aria-labelledby={tabId(panel, view)} className="flex flex-col gap-3">
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
