// What a test waits for comes late on a busy machine: it gets seconds, and a test that fails says so later.

import { configure } from "@testing-library/react";

configure({ asyncUtilTimeout: 10_000 });
