// telegram-test-api: a server that plays Telegram, not written by us. `node telegram.mjs PORT`
import TelegramServer from "telegram-test-api";

const server = new TelegramServer({ port: Number(process.argv[2]), host: "127.0.0.1" });
await server.start();
