import { Webhooks } from "../pages/webhooks";
import { say } from "../texts";
import { Sheet } from "./sheet";

export function AdminWebhooksPage() {
  return (
    <Sheet title={say("webhooks.title")}>
      <Webhooks userId={null} />
    </Sheet>
  );
}
