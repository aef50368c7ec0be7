// The advertising accounts of the person who is signed in.

import { AdsConnections } from "../parts/ads";
import { useTitle } from "../parts/title";
import { useUser } from "../session/session";
import { say } from "../texts";

export default function AdsPage() {
  const { userId } = useUser();
  useTitle(say("ads.title"));
  return (
    <div className="scrolls h-full p-4" tabIndex={0}>
      <div className="mx-auto flex max-w-[80ch] flex-col gap-4">
        <h1 className="text-title font-semibold">{say("ads.title")}</h1>
        <AdsConnections userId={userId} />
      </div>
    </div>
  );
}
