// How a person calls assistants, and those of their agents that answer.

import { useQuery } from "@tanstack/react-query";

import { get } from "../api/http";
import { keys } from "../api/keys";
import { visible } from "./visible";

const ADS = ["ads", "ads_v1"];

export function useAssistants() {
  return useQuery({
    queryKey: keys.assistants(),
    queryFn: ({ signal }) => get("/v1/assistants", {}, signal),
    staleTime: 300_000,
  });
}

/** Whether assistants for advertising are there; their accounts have a page. */
export function useHasAds(): boolean {
  return useAssistants().data?.results.some((one) => ADS.includes(one.name)) ?? false;
}

/** How a person calls an assistant, with the agent of it that answers, where it has any. */
export function useTitleOf(): (name: string, agent?: string | null) => string {
  const { data } = useAssistants();
  return (name, agent = null) =>
    titleWithAgent(data?.results.find((one) => one.name === name)?.title ?? inWords(name), agent);
}

export function titleWithAgent(title: string, agent: string | null): string {
  return visible(agent ? `${title}, ${inWords(agent)}` : title);
}

function inWords(id: string): string {
  return id.replaceAll("_", " ");
}
