// Picks from what a program wrote before it ended the line that says why. Pure.

/** An exception with its message, also inside the drawing of an exception group; groups themselves say nothing. */
const EXCEPTION = /^[\s|+-]*((?:[\w.]+\.)?(?!(?:Base)?ExceptionGroup\b)\w*(?:Error|Exception|Exit|Interrupt)\b: .+)$/;
const LOGGED = /\b(?:ERROR|CRITICAL)\b:?\s+(.+)$/;
const MOST_CHARACTERS = 200;

/** The last exception, else the last line logged as an error. Undefined where there is neither. */
export function lastWords(lines: readonly string[]): string | undefined {
  for (const pattern of [EXCEPTION, LOGGED]) {
    for (const line of lines.toReversed()) {
      const words = pattern.exec(line)?.[1];
      if (words !== undefined) {
        return words.length > MOST_CHARACTERS ? `${words.slice(0, MOST_CHARACTERS)}…` : words;
      }
    }
  }
  return undefined;
}
