// The keys under which the page keeps what it has read. The first part is the kind: by it, `refresh` reads again what has
// changed.

export type Kind = (typeof keys)[keyof typeof keys] extends (...parts: never[]) => readonly [infer First, ...unknown[]]
  ? First
  : never;

type Id = string | null | undefined;
type ListKind =
  | "runs"
  | "conversations"
  | "actions"
  | "memory"
  | "prompts"
  | "storedMemories"
  | "users"
  | "keys"
  | "documents"
  | "dialogue"
  | "audit"
  | "webhooks";

export const keys = {
  list: (kind: ListKind, path: string, query?: object) => [kind, path, query] as const,
  runs: (conversationId: string) => ["runs", "conversation", conversationId] as const,
  branches: (conversationId: string) => ["runs", "branches", conversationId] as const,
  run: (id: Id) => ["run", id] as const,
  importRun: (id: Id) => ["run", "import", id] as const, // read again and again, unlike that of the same id
  layers: (runId: Id, retries: number) => ["layers", runId, retries] as const,
  trace: (runId: string, archiveStatus: string) => ["trace", runId, archiveStatus] as const,
  tracesOf: (runId: string) => ["trace", runId] as const,
  conversation: (id: Id) => ["conversations", id] as const,
  conversations: () => ["conversations", "palette"] as const,
  allConversations: () => ["conversations", "/v1/conversations"] as const,
  allRequests: () => ["runs", "/v1/runs"] as const,
  messages: (conversationId: string, target: Id) => ["messages", conversationId, target] as const,
  allMessages: () => ["messages"] as const,
  messagesOf: (conversationId: string) => ["messages", conversationId] as const,
  actions: (conversationId: string) => ["actions", conversationId] as const,
  action: (id: string) => ["actions", "one", id] as const,
  allSingleActions: () => ["actions", "one"] as const,
  inbox: () => ["actions", "/v1/actions"] as const,
  allWaitingActions: () => ["actions", "waiting"] as const,
  waitingActions: (userId: string) => ["actions", "waiting", userId] as const,
  image: (id: string) => ["image", id] as const,
  links: (userId: string, conversationId: Id) => ["links", userId, conversationId] as const,
  apps: (userId: string) => ["apps", userId] as const,
  asking: (userId: string, request: object) => ["asking", userId, request] as const,
  shared: (token: string) => ["shared", token] as const,
  schedulesOfAll: () => ["schedules"] as const,
  schedules: (userId: string) => ["schedules", userId] as const,
  ads: (userId: string) => ["ads", userId] as const,
  assistants: () => ["assistants"] as const,
  memory: (id: string) => ["memory", id] as const,
  allOfMemory: () => ["memory"] as const,
  /** Where what is remembered anew stands; not what one searched for, nor what is open. */
  remembered: (userId: string) =>
    [
      ["memory", "/v1/memories"],
      ["memory", `/v1/users/${userId}/facts`],
      ["memory", `/v1/users/${userId}/imported`],
      ["memory", "totals", userId],
      ["memory", "days", userId],
      ["memory", "week", userId],
    ] as const,
  totals: (userId: string) => ["memory", "totals", userId] as const,
  imported: (userId: string, conversation: string, around: string | null) =>
    ["memory", "imported", userId, conversation, around] as const,
  days: (userId: string, year: number) => ["memory", "days", userId, year] as const,
  weekOfFacts: (userId: string) => ["memory", "week", userId] as const,
  sources: (memoryId: string) => ["memory", memoryId, "sources"] as const,
  forgetting: (memoryId: string) => ["memory", memoryId, "forgetting"] as const,
  found: (query: string, asOf: string) => ["memory", "search", query, asOf] as const,
  profile: (userId: string) => ["profile", userId] as const,
  preferences: (userId: string) => ["preferences", userId] as const,
  spending: (userId: string) => ["spending", userId] as const,
  costs: (by: string, days: number) => ["metrics", "costs", by, days] as const,
  inventory: () => ["inventory"] as const,
  ownKeys: (userId: string) => ["ownKeys", userId] as const,
  user: (id: Id) => ["users", "one", id] as const,
  pauses: () => ["pauses"] as const,
  metrics: (days: number) => ["metrics", days] as const,
  prices: () => ["prices"] as const,
  savedFilters: () => ["savedFilters"] as const,
  limits: () => ["limits"] as const,
  budget: (of: Id) => ["budgets", of] as const,
  trialSets: () => ["trialSets"] as const,
  trialSet: (name: string) => ["trialSets", name] as const,
  prompt: (role: string) => ["prompts", role] as const,
  promptHistory: (role: string) => ["prompts", role, "history"] as const,
};
