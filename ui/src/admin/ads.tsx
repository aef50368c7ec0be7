// The advertising accounts of any user, whom an operator names: by id, by email, or by the number of a chat.

import { AdsConnections } from "../parts/ads";
import { Empty } from "../parts/notice";
import { say } from "../texts";
import { useFilters, wholeId } from "./filters";
import { Sheet } from "./sheet";
import { UserFilter } from "./user_filter";

export function AdminAdsPage() {
  const [{ user }, setFilter] = useFilters(["user"]);
  const userId = wholeId(user);
  return (
    <Sheet title={say("ads.title")} note={say("trace.audited")}>
      <div className="max-w-md">
        <UserFilter value={user} onChange={(value) => setFilter("user", value)} />
      </div>
      {userId ? <AdsConnections key={userId} userId={userId} /> : <Empty>{say("ads.chooseUser")}</Empty>}
    </Sheet>
  );
}
