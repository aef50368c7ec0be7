// A conversation: what is loaded of it, what is being answered and sent, and where one writes.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useLocation } from "wouter";

import { get, post } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import type { Action, Mode, RunPage, RunSummary } from "../api/types";
import { ErrorNotice } from "../parts/notice";
import { newUuid } from "../parts/uuid";
import { useUser } from "../session/session";
import { say } from "../texts";
import { type Shown, useBranches, withShown } from "./branches";
import { Composer } from "./composer";
import { askableQuestions, findTarget, isEnded, runOf, useItems, useMessages, useTarget } from "./items";
import { Messages } from "./messages";
import { type Outgoing, upload, useOutbox } from "./outbox";
import type { ShowPanel } from "./turns";

const RUNS = 50; // the newest ones, among which are those without an answer yet
const NO_RUNS: RunSummary[] = [];
const NO_MESSAGES: Outgoing[] = [];

interface Props {
  id: string;
  assistant: string;
  mode: Mode | undefined;
  isNew: boolean; // the server does not know it yet
  isTemporary: boolean;
  draft: string; // the name of its draft
  onShow: ShowPanel;
  onStart: (text: string) => void;
}

export function Conversation({ id, assistant, mode, isNew, isTemporary, draft, onShow, onStart }: Props) {
  const { userId, isAdmin } = useUser();
  const queries = useQueryClient();
  const [outbox, waiting] = useOutbox();
  const unsent = useMemo(() => waiting.filter((one) => one.conversationId === id), [waiting, id]);
  const [uploadError, setUploadError] = useState<unknown>(null);
  const [progress, setProgress] = useState<number | null>(null); // of photos on their way, 0 to 1
  const [, navigate] = useLocation();
  const [versions, setVersions] = useState<Shown>({});
  const branches = useBranches(id, Object.values(versions).some(Boolean));
  const target = useTarget();
  const list = useMessages(id, target, !isNew);
  const { hasNextPage: hasEarlier, hasPreviousPage: hasLater } = list;
  const runs = useQuery({
    queryKey: keys.runs(id),
    queryFn: ({ signal }) => get("/v1/runs", { user_id: userId, conversation_id: id, limit: RUNS }, signal),
    enabled: !isNew,
  });
  const actions = useQuery({
    queryKey: keys.actions(id),
    queryFn: ({ signal }) => get("/v1/actions", { user_id: userId, conversation_id: id, limit: 100 }, signal),
    enabled: !isNew,
  });
  // What is being answered or sent stands behind the last message: not before that is loaded.
  const items = useItems(
    list.messages,
    hasLater ? NO_RUNS : (runs.data?.results ?? NO_RUNS),
    hasLater ? NO_MESSAGES : unsent,
    id,
  );
  const actionsOf = useMemo(() => byRun(actions.data?.results ?? []), [actions.data]);
  const toEnd = () => navigate(`/c/${id}`, { replace: true });
  const unfinished = items.filter((item) => item.kind === "run" && !isEnded(item.run));

  const readAgain = () => refresh(queries, ["messages", "runs", "actions", "conversations"]);
  const addRun = (message: Outgoing, runId: string) => {
    queries.setQueryData<RunPage>(keys.runs(message.conversationId), (page) => ({
      next: page?.next ?? null,
      results: [runOf(message, runId), ...(page?.results ?? [])],
    }));
    void refresh(queries, [keys.allConversations()]);
  };
  const ask = (text: string, attachmentIds: string[], replaces?: string) => {
    const message: Outgoing = {
      key: newUuid(),
      userId,
      conversationId: id,
      assistant,
      mode,
      text,
      at: new Date().toISOString(),
      attachmentIds,
      isTemporary,
      isDebugged: isAdmin,
      replaces,
    };
    onStart(text);
    setVersions({});
    if (hasLater) toEnd(); // one's own message is always seen
    outbox.enqueue(message, addRun);
  };
  const submit = async (text: string, photos: File[]) => {
    setUploadError(null);
    let attachmentIds: string[] = [];
    try {
      attachmentIds = await upload(userId, photos, setProgress);
    } catch (error) {
      setUploadError(error);
      return false;
    } finally {
      setProgress(null);
    }
    if (outbox.isClosed) return false; // signed out while photos were sent
    ask(text, attachmentIds);
    return true;
  };
  const stop = () => {
    for (const item of unfinished)
      if (item.kind === "run") void post(`/v1/runs/${item.run.request_id}/cancel`).then(readAgain, readAgain);
  };

  const shownItems = useMemo(() => withShown(items, versions, branches), [items, versions, branches]);
  const place = findTarget(shownItems, target);
  return (
    <>
      {list.isMissing && place < 0 && (
        <p role="status" className="border-b border-line px-4 py-2 text-small text-warn">
          {say("chat.gone")}
        </p>
      )}
      {list.error && (
        <div className="mx-auto w-full max-w-[72ch] p-4">
          <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
        </div>
      )}
      <Messages
        items={shownItems}
        target={place}
        assistant={assistant}
        actionsOf={actionsOf}
        onShow={onShow}
        isLoading={!isNew && !list.isSuccess && !list.error}
        isKnown={isNew || list.isSuccess}
        hasLater={hasLater}
        isLoadingEarlier={list.isFetchingNextPage}
        isLoadingLater={list.isFetchingPreviousPage}
        onEarlier={() => hasEarlier && !list.isFetching && void list.fetchNextPage()}
        onLater={() => hasLater && !list.isFetching && void list.fetchPreviousPage()}
        onEnd={hasLater ? toEnd : null}
        onExample={(text) => ask(text, [])}
        askable={hasLater ? [] : askableQuestions(items)}
        versions={versions}
        onVersion={(newest, shown) => setVersions((before) => ({ ...before, [newest]: shown }))}
        onAgain={({ text, attachmentIds, replaces }) => ask(text, attachmentIds, replaces)}
      />
      {progress !== null && (
        <progress
          max={1}
          value={progress}
          aria-label={say("file.photosSending")}
          className="mx-auto w-full max-w-[72ch]"
        />
      )}
      <ErrorNotice error={uploadError} />
      <Composer draft={draft} isAnswering={unfinished.length > 0} onSend={submit} onStop={stop} />
    </>
  );
}

function byRun(actions: Action[]): Map<string, Action[]> {
  const found = new Map<string, Action[]>();
  for (const action of actions) found.set(action.run_id, [...(found.get(action.run_id) ?? []), action]);
  return found;
}
