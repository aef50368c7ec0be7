// Verifies deliveries as a receiver in JavaScript does: lines of {secret, headers, body}, an answer for each.
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

for await (const line of createInterface({ input: process.stdin })) {
  const { secret, headers, body } = JSON.parse(line);
  try {
    console.log(JSON.stringify(new Webhook(secret).verify(body, headers)));
  } catch (error) {
    console.log(JSON.stringify(error.constructor.name));
  }
}
