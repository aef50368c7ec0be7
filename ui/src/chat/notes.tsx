import type { Run } from "../api/types";
import { say, sayOr } from "../texts";

/** A stage by the role of its model: FinalResponder is the stage final_responder. */
function nameOf(role: string): string {
  const stage = role.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
  return sayOr(`stage.${stage}`, role);
}

/** What memory was searched for, and what was not as usual: who did it instead of the model, how far the search went. */
export function Notes({ run }: { run: Run }) {
  const stages = run.degraded.filter((one) => one !== "language").map(nameOf);
  const warnings = [
    run.limited === "budget" && say("chat.limited"),
    run.limited === "stopped" && say("chat.cancelled"),
    !run.limited && stages.length > 0 && say("chat.degraded", { stages: stages.join(", ") }),
    run.degraded.includes("language") && say("chat.otherLanguage"),
  ].filter(Boolean);
  const ofMemory = run.memory_reasons.map((reason) => sayOr(`chat.memory.${reason}`, reason));
  const { searched } = run;
  // What was found and is not among what the answer was given did not help it.
  const found = searched?.found && searched.found !== "no" && !run.sources.length ? "unused" : searched?.found;
  return (
    <>
      {searched && found && (
        <p className="mt-1 text-small text-quiet">
          {searched.messages ? say(`searched.${found}`, { n: searched.messages }) : say("searched.empty")}
        </p>
      )}
      {warnings.length > 0 && <p className="mt-1 text-small text-warn">{warnings.join(" ")}</p>}
      {ofMemory.length > 0 && (
        <p className={`mt-1 text-small ${run.memory === "unavailable" ? "text-warn" : "text-quiet"}`}>
          {ofMemory.join(" ")}
        </p>
      )}
    </>
  );
}
