export { MaaS, type SubmitOptions, type WaitOptions } from "./client.js";
export { MaasError } from "./error.js";
export type { FollowOptions, RunEvent } from "./events.js";
export type { Options } from "./transport.js";
export type * from "./types.js";
