// `make pictures`: the pictures of the READMEs and of the walkthrough anew, from the screenshots of the last `make test-vscode`.
// Whoever runs it looks at each before it is committed.
import { copyFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/** Pictures in media/, and the screenshots that they are. */
export const PICTURES = {
  "walkthrough-status": "scheduler-running",
  "walkthrough-complete": "completion-while-indexing",
  "walkthrough-search": "search",
  "walkthrough-tests": "tests-diff",
  "readme-busy": "indexing-tooltip",
  "readme-timeline-light": "timeline-light",
  "readme-timeline-dark": "timeline-dark",
  "readme-debug": "tests-debug",
  "readme-restricted": "restricted-tooltip",
  "readme-chinese": "chinese-menu",
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [picture, shot] of Object.entries(PICTURES)) {
    const from = join(root, "artifacts", "vscode", `${shot}.png`);
    if (existsSync(from)) {
      copyFileSync(from, join(root, "media", `${picture}.png`));
      console.log(`media/${picture}.png <- ${shot}.png`);
    } else {
      console.log(`media/${picture}.png stays: there is no ${shot}.png`);
    }
  }
}
