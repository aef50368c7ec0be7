import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { ApiError } from "./api/http";
import { App } from "./app";
import { applyScheme } from "./session/appearance";
import "./style.css";

const RETRIES = 2;

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      refetchOnWindowFocus: false, // events of the user say when something has changed
      retry: (count, error) => count < RETRIES && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
    },
  },
});

applyScheme();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
