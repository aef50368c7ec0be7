// The bar above a page: what a page puts there stands beside the button of the menu.

import { createContext, type ReactNode, use } from "react";
import { createPortal } from "react-dom";

const Place = createContext<HTMLElement | null>(null);

/** Names the element of the bar that takes what pages put there. */
export const HeaderPlace = Place.Provider;

export function Header({ children }: { children: ReactNode }) {
  const place = use(Place);
  return place && createPortal(children, place);
}
