// The pages that nobody begins with: one chunk, which comes when the first view is there.

export { ActionsPage } from "./actions";
export { HistoryPage } from "./history";
export { ImportedPage } from "./imported";
export { MemoryPage } from "./memory";
export { Palette } from "./palette";
export { ProfilePage } from "./profile";
export { RunPage } from "./run";
export { SchedulesPage } from "./schedules";
export { WebhooksPage } from "./webhooks";
