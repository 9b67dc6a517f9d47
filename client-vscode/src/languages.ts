// Which documents the server is told of: Python, and the languages that a person has named a language server for.

/** One entry of what the editor calls a document selector. */
export interface Selected {
  readonly scheme: string;
  readonly language: string;
}

/**
 * Returns the languages of the setting `headway.engines`, each once, with Python first. What is not as it should be is
 * left out: the server says what is wrong with it.
 */
export function servedLanguages(engines: unknown): readonly string[] {
  const named = Array.isArray(engines) ? engines.map(languageOf) : [];
  return [...new Set(["python", ...named.filter((language) => language !== undefined)])];
}

/** Files and texts that were never saved, of each language, and the cells of notebooks with Python. */
export function documentSelector(languages: readonly string[]): Selected[] {
  return languages.flatMap((language) => {
    const schemes = language === "python" ? ["file", "untitled", "vscode-notebook-cell"] : ["file", "untitled"];
    return schemes.map((scheme) => ({ scheme, language }));
  });
}

function languageOf(engine: unknown): string | undefined {
  if (typeof engine !== "object" || engine === null || !("language" in engine)) {
    return undefined;
  }
  return typeof engine.language === "string" && engine.language !== "" ? engine.language : undefined;
}
