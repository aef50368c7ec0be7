import { Component, type ReactNode } from "react";

import { say } from "../texts";
import { ErrorNotice } from "./notice";

interface Props {
  children: ReactNode;
  place?: string; // what is shown; something else is tried anew
}

/** Shows an error of what it holds in its stead, with ways on; the rest of the page goes on. */
export class Boundary extends Component<Props, { error: unknown; place?: string }> {
  override state: { error: unknown; place?: string } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error: error ?? new Error(String(error)) };
  }

  static getDerivedStateFromProps({ place }: Props, state: { error: unknown; place?: string }) {
    return place === state.place ? null : { error: null, place };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div className="mx-auto flex w-full max-w-[72ch] flex-col gap-3 p-4">
        <p>{say("app.broken")}</p>
        <ErrorNotice error={this.state.error} onRetry={() => this.setState({ error: null })} />
        <p className="flex flex-wrap gap-2">
          <button type="button" className="button small" onClick={() => window.location.reload()}>
            {say("app.reload")}
          </button>
          <a className="button small" href="/ui/">
            {say("app.toStart")}
          </a>
        </p>
      </div>
    );
  }
}
