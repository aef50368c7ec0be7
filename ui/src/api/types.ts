// What the server answers; see /openapi.json.

export type Status = "NEW" | "ANALYZING" | "ANALYZED" | "ASSEMBLING" | "READY" | "RESPONDING" | "COMPLETED" | "FAILED";
export type ArchiveStatus = "PENDING" | "ARCHIVING" | "ARCHIVED" | "SKIPPED" | "FAILED";
export type Mode = "auto" | "plan" | "ask";

export interface Page<T> {
  results: T[];
  next: string | null;
}

export interface Accepted {
  request_id: string;
}

export interface Source {
  id: string;
  kind: "turn" | "summary" | "recent";
  score: number;
  number?: number | null; // its mark [n] in the answer
}

export interface Button {
  id: string;
  label: string;
}

export interface TaskStep {
  number: number;
  title: string;
  tool: string | null;
  status: "pending" | "running" | "done" | "failed" | "in_doubt" | "skipped";
  error_code: string | null;
}

export interface Run {
  request_id: string;
  user_id: string;
  query: string;
  attachment_ids: string[];
  assistant: string;
  conversation_id: string | null;
  kind: string;
  status: Status;
  archive_status: ArchiveStatus;
  final_answer: string | null;
  error_code: string | null;
  error_message: string | null;
  degraded: string[];
  limited: "budget" | "stopped" | null;
  memory: string;
  memory_reasons: string[];
  sources: Source[];
  used?: string[];
  buttons: Button[];
  attachments: string[];
  steps: TaskStep[];
  timings: Record<string, string | null>;
  retries: number;
}

export interface RunSummary {
  request_id: string;
  user_id: string;
  query: string;
  answer?: string | null;
  assistant: string;
  conversation_id?: string | null;
  kind: string;
  source: string;
  status: Status;
  archive_status: ArchiveStatus;
  error_code: string | null;
  error_message?: string | null;
  created_at: string;
  completed_at: string | null;
}

export interface Conversation {
  id: string;
  assistant: string;
  title: string | null;
  source: string;
  mode: Mode;
  is_processing: boolean;
  created_at: string;
  updated_at?: string;
  request_id?: string | null;
}

export interface Message {
  id: string;
  run_id: string | null;
  role: "user" | "assistant" | "system" | "tool";
  content: string;
  agent: string | null;
  attachment_ids: string[];
  created_at: string;
}

export interface Action {
  id: string;
  run_id: string;
  tool: string;
  arguments: Record<string, unknown>;
  effect: "read" | "write" | "dangerous";
  fingerprint: string; // of the tool, its version and the arguments
  status: "pending" | "approved" | "rejected" | "expired" | "executing" | "done" | "failed" | "in_doubt";
  created_at: string;
  expires_at: string;
  decided_by: string | null;
  decided_at: string | null;
  action_run_id: string | null;
  result: Record<string, unknown> | null;
}

export interface Memory {
  id: string;
  kind: "turn" | "summary";
  memory: string;
  score: number | null;
  speaker: string | null;
  period: string;
  level?: number | null;
  tags: string[];
  raw_log_ids: string[];
  occurred_at: string;
  created_at: string;
  corrected_by?: string | null;
  corrects?: string | null;
}

export interface RawLog {
  id: string;
  run_id: string;
  role: "user" | "assistant";
  speaker: string | null;
  content: string;
  conversation: string;
  occurred_at: string;
}

export interface Forgotten {
  logs: number;
  answers: number;
  records: number;
  reopened: number;
  doubtful_runs: number;
}

export interface Assistant {
  name: string;
  title: string | null;
  description: string | null;
}

export interface Preferences {
  preferences: Record<string, { value: string; answered_at: string }>;
}

export interface Profile {
  name: string | null;
  position: string | null;
  department: string | null;
  language: "ru" | "en" | null;
}

export interface Spending {
  tokens_today: number;
  dollars_today: number;
  tokens: number;
  dollars: number;
  daily_tokens: number | null;
  daily_dollars: number | null;
}

export interface Stage {
  stage: string;
  state: "done" | "running" | "failed";
  began_ms: number;
  ms: number | null;
  calls: number;
  model_ms: number;
  is_degraded: boolean;
  why: string | null;
}

export interface ModelCall {
  stage: string;
  round: number;
  provider: string;
  model: string;
  role_name: string;
  prompt_version: number | null;
  reply: string | null;
  finish: string;
  tokens_in: number;
  tokens_out: number;
  tokens_cached: number;
  ms: number;
  price: number | null;
  error: string | null;
}

export interface Trace {
  run: { user_query: string; final_context_payload: string | null; final_answer: string | null; status: Status };
  took: { answer_ms: number | null; archive_ms: number | null };
  stages: Stage[];
  calls: ModelCall[];
  tools: { tool: string; effect: string; status: string; arguments: unknown; result: unknown; ms: number | null }[];
  history: { happened: string; at: string; details: Record<string, unknown> | null }[];
  prompts: { role: string; version: number | null; text: string | null }[];
}

export interface Totals {
  requests: number;
  completed: number;
  failed: number;
  average_ms: number | null;
  p95_ms: number | null;
  tokens: number;
  dollars: number;
}

export interface Metrics {
  days: (Totals & { day: string })[];
  total: Totals;
  queue: Record<string, number>;
  engines: Record<string, unknown>[];
  stuck: { request_id: string; user_id: string; status: string; why: string; since: string | null }[];
  embedding: { model: string | null; waiting: number | null } | null;
}

export interface PromptEntry {
  role: string;
  version: number;
  is_active: boolean;
  updated_at: string;
  changed_by: string | null;
  characters: number;
}

export interface Prompt {
  role: string;
  version: number;
  text: string;
  is_active: boolean;
  variables: string[];
  updated_at: string;
}

export interface PromptVersion {
  version: number;
  text: string;
  is_active: boolean;
  valid_from: string;
  changed_by: string | null;
}

export interface Person {
  user_id: string;
  names: string[];
  email: string | null;
  name: string | null;
  is_admin: boolean;
  runs: number;
  last_run_at: string | null;
}

export interface Key {
  id: string;
  name: string;
  scopes: string[];
  user_id: string | null;
  prefix: string | null;
  per_minute: number | null;
  state: "active" | "expired" | "revoked";
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
}

export interface AuditEntry {
  id: number;
  at: string;
  actor: string;
  action: string;
  user_id: string | null;
  subject: string | null;
  details: Record<string, unknown>;
}

export interface StoredMemory {
  id: string;
  user_id: string;
  level: number;
  period: string;
  tags: string[];
  memory: string;
  messages: number;
  created_at: string;
  superseded_by: string | null;
}
