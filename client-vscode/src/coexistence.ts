// Who else serves Python in this editor, and what is then left for Headway to offer. Pure.

/** What can be seen of the editor. */
export interface Surroundings {
  /** Whether an extension is installed and not disabled. */
  readonly installed: (id: string) => boolean;
  readonly setting: (name: string) => unknown;
}

/** What Headway offers for Python documents beside its search, its tests and its scheduler. */
export interface Offer {
  /** Completion and navigation. */
  readonly language: boolean;
  /** Type errors. */
  readonly types: boolean;
  /** What ruff finds, mends and formats. */
  readonly lint: boolean;
  /** Who offers the rest, as people know them. */
  readonly languageBy: readonly string[];
  readonly lintBy: readonly string[];
}

export const EVERYTHING: Offer = { language: true, types: true, lint: true, languageBy: [], lintBy: [] };

/** Settings that decide what others offer. */
export const WATCHED_SETTINGS = [
  "python.languageServer",
  "python.analysis.typeCheckingMode",
  "basedpyright.disableLanguageServices",
  "pyright.disableLanguageServices",
  "ty.disableLanguageServices",
  "python.pyrefly.disableLanguageServices",
  "ruff.enable",
] as const;

interface Other {
  readonly id: string;
  readonly name: string;
  readonly serves: (around: Surroundings) => boolean;
  readonly checksTypes: (around: Surroundings) => boolean;
}

const PYLANCE = "ms-python.vscode-pylance";
const always = (): boolean => true;
const unless =
  (setting: (typeof WATCHED_SETTINGS)[number]) =>
  ({ setting: read }: Surroundings): boolean =>
    read(setting) !== true;

const LANGUAGE_SERVERS: readonly Other[] = [
  {
    id: PYLANCE,
    name: "Pylance",
    serves: ({ setting }) => ["Default", "Pylance", undefined].includes(text(setting("python.languageServer"))),
    checksTypes: ({ setting }) => !["off", undefined].includes(text(setting("python.analysis.typeCheckingMode"))),
  },
  {
    // It brings Jedi along, and uses it where Pylance is not there.
    id: "ms-python.python",
    name: "Jedi",
    serves: ({ installed, setting }) => {
      const chosen = text(setting("python.languageServer"));
      return chosen === "Jedi" || (chosen === "Default" && !installed(PYLANCE));
    },
    checksTypes: () => false,
  },
  { id: "detachhead.basedpyright", name: "basedpyright", serves: unless("basedpyright.disableLanguageServices"), checksTypes: always },
  { id: "ms-pyright.pyright", name: "Pyright", serves: unless("pyright.disableLanguageServices"), checksTypes: always },
  { id: "astral-sh.ty", name: "ty", serves: unless("ty.disableLanguageServices"), checksTypes: always },
  { id: "meta.pyrefly", name: "Pyrefly", serves: unless("python.pyrefly.disableLanguageServices"), checksTypes: always },
];
const RUFF = { id: "charliermarsh.ruff", name: "Ruff" } as const;

/** Returns what Headway offers: by the mode `auto` only what nobody else does, by `all` everything. */
export function offerAmong(mode: unknown, around: Surroundings): Offer {
  if (mode === "all") {
    return EVERYTHING;
  }
  const servers = LANGUAGE_SERVERS.filter((other) => around.installed(other.id) && other.serves(around));
  const ruff = around.installed(RUFF.id) && around.setting("ruff.enable") !== false;
  return {
    language: servers.length === 0,
    types: !servers.some((other) => other.checksTypes(around)),
    lint: !ruff,
    languageBy: servers.map((other) => other.name),
    lintBy: ruff ? [RUFF.name] : [],
  };
}

/** Returns the server's settings, with `auto` for type errors decided where another extension shows them. */
export function settledTypes(settings: unknown, offer: Offer): unknown {
  const diagnostics: unknown = typeof settings === "object" && settings !== null ? Reflect.get(settings, "diagnostics") : undefined;
  if (offer.types || typeof diagnostics !== "object" || diagnostics === null || Reflect.get(diagnostics, "types") !== "auto") {
    return settings;
  }
  return { ...(settings as object), diagnostics: { ...diagnostics, types: "off" } };
}

function text(setting: unknown): string | undefined {
  return typeof setting === "string" ? setting : undefined;
}
