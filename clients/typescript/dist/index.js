export { MaaS } from "./client.js";
export { MaasError } from "./error.js";
