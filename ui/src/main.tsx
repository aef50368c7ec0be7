import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./app";
import { Boundary } from "./parts/boundary";
import { applyScheme } from "./session/appearance";
import { loadTexts } from "./texts";
import "./style.css";

applyScheme();
await loadTexts();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Boundary>
      <App />
    </Boundary>
  </StrictMode>,
);
